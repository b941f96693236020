"""An ordinary training script: a small convolutional network on random images."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--steps", type=int, default=30)
options = parser.parse_args()

torch.manual_seed(0)
images = torch.randn(2048, 3, 32, 32)
labels = torch.randint(0, 10, (2048,))
loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True)


def block(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


model = nn.Sequential(
    block(3, 32, 1),
    block(32, 64, 2),
    block(64, 64, 1),
    block(64, 128, 2),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(128, 10),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
step = 0
while step < options.steps:
    for x, y in loader:
        if len(x) < options.batch or step == options.steps:
            break
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
print(f"loss {loss.item():.3f} after {step} steps")
