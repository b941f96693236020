"""Mixed precision: the same weights in two dtypes."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


def losses():
    begin()
    net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
    batches = [(torch.randn(4, 8), torch.randint(0, 3, (4,))) for _ in range(3)]

    def loss_of(batch):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return nn.functional.cross_entropy(net(batch[0]), batch[1])

    return train(net, batches, loss_of)


if __name__ == "__main__":
    print(losses())
