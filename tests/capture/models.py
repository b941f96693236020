"""Small models of three kinds, and the step that trains one: what the tests of capture record."""

from __future__ import annotations

from typing import Any

SCRIPT = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--infer", action="store_true")
options = parser.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
if not options.infer:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for number in range(options.steps):
    x = torch.randn(options.batch, 8)
    x = (x - x.mean()) / x.std()
    if options.infer:
        with torch.no_grad():
            model(x)
        continue
    y = torch.arange(options.batch) % 4
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print("trained", options.steps)
"""


def cnn() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2), nn.Dropout(0.2), nn.Flatten(),
        nn.Linear(8 * 9, 5),
    )  # fmt: skip


def transformer() -> Any:
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(50, 16)
            self.position = nn.Embedding(12, 16)
            layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.decoder = nn.Linear(16, 5)

        def forward(self, tokens: Any) -> Any:
            import torch

            places = torch.arange(tokens.shape[1])
            hidden = self.encoder(
                self.embedding(tokens) + self.position(places), src_key_padding_mask=tokens == 0
            )
            return self.decoder(hidden[:, 0])

    return Model()


def lstm() -> Any:
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(50, 16)
            self.lstm = nn.LSTM(16, 16, batch_first=True)
            self.decoder = nn.Linear(16, 5)

        def forward(self, tokens: Any) -> Any:
            return self.decoder(self.lstm(self.embedding(tokens))[0][:, -1])

    return Model()


MODELS = {"cnn": cnn, "transformer": transformer, "lstm": lstm}


def train(name: str, path: str, steps: int = 3, batch: int = 4) -> None:
    """Train for some steps, the second of them recorded in the file."""
    import torch

    import opbench

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = MODELS[name]()
    # AdamW makes a dozen calls for each shape: once is enough.
    adam = name == "cnn"
    optimizer = (torch.optim.AdamW if adam else torch.optim.SGD)(model.parameters(), lr=1e-2)
    with opbench.record(path, steps="2", sizes={"batch": batch}):
        for _ in range(steps):
            x = (
                torch.randn(batch, 3, 16, 16)
                if name == "cnn"
                else torch.randint(0, 50, (batch, 12))
            )
            loss = torch.nn.functional.cross_entropy(model(x), torch.randint(0, 5, (batch,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
