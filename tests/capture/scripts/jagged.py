"""Sequences of different lengths in one jagged tensor."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


def losses():
    begin()
    net = nn.Linear(6, 4)
    batches = [[torch.randn(length, 6) for length in (2, 5, 3)] for _ in range(3)]

    def loss_of(parts):
        nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
        return torch.relu(net(nested)).values().square().mean()

    return train(net, batches, loss_of)


if __name__ == "__main__":
    print(losses())
