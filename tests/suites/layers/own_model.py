"""A user's models for the tests: a small network, and one with a recurrent layer."""

from collections import UserDict

import torch
from torch import nn


def mlp(batch_size):
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.LayerNorm(5), nn.Linear(5, 3))
    return model, torch.randn(batch_size, 6), torch.randint(0, 3, (batch_size,))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.lstm = nn.LSTM(4, 4, batch_first=True)
        self.head = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2))

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0][:, -1] + 0)


def tagger(batch_size):
    labels = torch.randn(batch_size, 2)
    return Tagger(), torch.randint(0, 11, (batch_size, 3)), labels, nn.MSELoss()


class Positions(nn.Module):
    """Parameters of its own beside layers."""

    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(3, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head((x + self.positions).mean(1))


def positions(batch_size):
    return Positions(), torch.randn(batch_size, 3, 4), torch.randint(0, 2, (batch_size,))


class Gate(nn.Module):
    """Parameters of its own, and more than one input."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x, mask=None):
        return x * self.weight if mask is None else x * self.weight * mask


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.head = nn.Linear(6, 3)

    def forward(self, x, mask):
        return self.head(self.gate(x, mask))


class GatedByName(Gated):
    def forward(self, x, mask):
        return self.head(self.gate(x, mask=mask))


class Ungated(Gated):
    def forward(self, x, mask):
        return self.head(self.gate(x, mask=None) * mask)


def gated(batch_size, model=Gated):
    inputs = (torch.randn(batch_size, 6), torch.ones(batch_size, 6))
    return model(), inputs, torch.randint(0, 3, (batch_size,))


def gated_by_name(batch_size):
    return gated(batch_size, GatedByName)


def ungated(batch_size):
    return gated(batch_size, Ungated)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.out = nn.Linear(4, 11, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.embed(x).mean(1))


def tied(batch_size):
    return Tied(), torch.randint(0, 11, (batch_size, 3)), torch.randint(0, 11, (batch_size,))


def seven(batch_size):
    return nn.Linear(6, 3), torch.randn(7, 6), torch.randint(0, 3, (7,))


def normed(batch_size):
    model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    return model, torch.randn(batch_size, 6), torch.randint(0, 3, (batch_size,))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)

    def forward(self, *, data, mask):
        return self.head(data * mask)


def keywords(batch_size):
    # As a tokenizer gives them: a mapping that is no dict.
    data = UserDict(data=torch.randn(batch_size, 6), mask=torch.ones(batch_size, 1))
    return Masked(), data, torch.randint(0, 3, (batch_size,))


def text(batch_size):
    return nn.Linear(6, 3), "x", torch.zeros(batch_size)


def frozen(batch_size):
    model = nn.Linear(6, 3).requires_grad_(False)
    return model, torch.randn(batch_size, 6), torch.randint(0, 3, (batch_size,))


def single(batch_size):
    """A model that is one layer."""
    return nn.Linear(6, 3), torch.randn(batch_size, 6), torch.randint(0, 3, (batch_size,))
