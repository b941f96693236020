"""Views, arguments turned in place, masks of more than 2048 elements, sorted and unsorted sorts."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


def losses():
    begin()
    net = nn.Linear(4, 4)

    def loss_of(x):
        mask = torch.rand(x.shape[0]) < 0.9
        hidden = net(x)[mask]
        turned = x.clone().transpose_(0, 1).unsqueeze_(0)
        ordered = torch.sort(torch.sort(x[:, 0]).values).values
        places = torch.searchsorted(ordered, x[:50, 1].contiguous())
        hidden = hidden + turned[0, :, : hidden.shape[0]].t() * 1e-3
        hidden[:, 1].mul_(2.0)
        return hidden.square().mean() + places.float().mean() * 0 + ordered[0] * 0

    return train(net, [torch.randn(3000, 4) for _ in range(3)], loss_of)


if __name__ == "__main__":
    print(losses())
