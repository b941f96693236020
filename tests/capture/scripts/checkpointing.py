"""Activations computed again in the backward pass."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn
from torch.utils.checkpoint import checkpoint


def losses():
    begin()
    first, second = nn.Sequential(nn.Linear(8, 16), nn.Tanh()), nn.Linear(16, 1)
    net = nn.Sequential(first, second)
    batches = [torch.randn(4, 8) for _ in range(3)]
    return train(
        net, batches, lambda x: second(checkpoint(first, x, use_reentrant=False)).square().mean()
    )


if __name__ == "__main__":
    print(losses())
