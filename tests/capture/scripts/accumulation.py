"""Two batches per step, from a data loader with a worker."""

import torch
from tests.capture.scripts.training import begin
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def losses():
    begin()
    net = nn.Linear(6, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    data = TensorDataset(torch.randn(24, 6), torch.randint(0, 3, (24,)))
    found = []
    for number, (x, y) in enumerate(DataLoader(data, 4, num_workers=1)):
        loss = nn.functional.cross_entropy(net(x), y) / 2
        loss.backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
        found.append(loss.item())
    return found


if __name__ == "__main__":
    print(losses())
