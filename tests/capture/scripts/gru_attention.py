"""A GRU cell in a Python loop, and attention over its states: thousands of small calls."""

import torch
from tests.capture.scripts.training import begin, train
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        state, states = x.new_zeros(x.shape[0], 8), []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            states.append(state)
        mixed, _ = self.attention(*[torch.stack(states, 1)] * 3)
        return self.head(mixed.mean(1))


def losses():
    begin()
    net = Net()
    batches = [(torch.randn(3, 5, 6), torch.randint(0, 3, (3,))) for _ in range(3)]
    return train(net, batches, lambda b: nn.functional.cross_entropy(net(b[0]), b[1]))


if __name__ == "__main__":
    print(losses())
