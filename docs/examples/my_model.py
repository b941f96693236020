import torch
from torch import nn


def cnn(batch_size):
    model = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )
    return model, torch.randn(batch_size, 1, 28, 28), torch.randint(0, 10, (batch_size,))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 64, batch_first=True)
        self.out = nn.Linear(64, 12)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0][:, -1])


def lstm(batch_size):
    return Tagger(), torch.randint(0, 1000, (batch_size, 24)), torch.randint(0, 12, (batch_size,))


class Block(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 64)
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Linear(64, 5)

    def forward(self, x):
        return self.out(self.blocks(self.embed(x)).mean(1))


def transformer(batch_size):
    return Encoder(), torch.randint(0, 500, (batch_size, 16)), torch.randint(0, 5, (batch_size,))
