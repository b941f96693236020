"""The mini-model of docs/sweeps.md: the feed-forward block of a transformer."""

import torch


class FeedForward(torch.nn.Module):
    def __init__(self, hidden: int, ratio: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(hidden, ratio * hidden)
        self.down = torch.nn.Linear(ratio * hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Normed(torch.nn.Module):
    """A batch norm, whose output in training mode depends on the whole batch."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)
