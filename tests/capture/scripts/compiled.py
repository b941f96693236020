"""A model compiled in three ways: wrapped, in place, and with its backward pass."""

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


def losses_with_backward():
    """The compiled function calls `backward` itself, so it runs on while others run in it."""
    begin()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def passes(x):
        loss = net(x).square().mean()
        loss.backward()
        return loss

    losses = []
    for _ in range(3):
        losses.append(passes(torch.randn(4, 8)).item())
        optimizer.step()
        optimizer.zero_grad()
    return losses


if __name__ == "__main__":
    print(losses())
