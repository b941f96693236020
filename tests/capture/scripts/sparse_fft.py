"""A sparse matrix, complex numbers, and a Fourier transform."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


def losses():
    begin()
    adjacency = (torch.rand(10, 10) < 0.2).float().to_sparse()
    rows = torch.eye(10).to_sparse_csr()
    net = nn.Linear(6, 4)

    def loss_of(x):
        mixed = torch.sparse.mm(adjacency, net(x)) + (rows @ x)[:, :4]
        spectrum = torch.fft.rfft(mixed, dim=0)
        return (spectrum * spectrum.conj()).real.mean()

    return train(net, [torch.randn(10, 6) for _ in range(3)], loss_of)


if __name__ == "__main__":
    print(losses())
