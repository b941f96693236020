"""A model compiled in both ways: wrapped, and in place."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)) * 2 + 1)


def losses(way="wrapped"):
    begin()
    net = Net()
    if way == "wrapped":
        model = torch.compile(net)
    else:
        model = net
        model.compile()
    batches = [torch.randn(4, 8) for _ in range(3)]
    return train(net, batches, lambda x: model(x).square().mean())


if __name__ == "__main__":
    print(losses())
