"""Three training scripts in one: what `python -m perf capture` records and replays.

`python perf/capture_train.py resnet --batch 8 --size 96 --steps 8`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any


def resnet18(classes: int = 100) -> Any:
    """ResNet-18 as in its paper, from torch.nn alone."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(width, outputs, stride), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def resnet(batch: int, size: int, device: str) -> tuple[Any, Callable[[], Any]]:
    import torch

    model = resnet18().to(device)

    def loss() -> Any:
        images = torch.randn(batch, 3, size, size, device=device)
        labels = torch.randint(0, 100, (batch,), device=device)
        return torch.nn.functional.cross_entropy(model(images), labels)

    return model, loss


def bert(batch: int, size: int, device: str) -> tuple[Any, Callable[[], Any]]:
    """Four layers of 256, random weights: nothing is downloaded."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=8000,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        max_position_embeddings=1024,
    )
    model: Any = BertForSequenceClassification(config)
    model.to(device)

    def loss() -> Any:
        tokens = torch.randint(5, 8000, (batch, size), device=device)
        labels = torch.randint(0, 2, (batch,), device=device)
        return model(input_ids=tokens, labels=labels).loss

    return model, loss


def lstm(batch: int, size: int, device: str) -> tuple[Any, Callable[[], Any]]:
    """A word-level language model: embedding, two LSTM layers, a projection to the vocabulary."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(4000, 256)
            self.lstm = nn.LSTM(256, 256, 2, batch_first=True)
            self.decoder = nn.Linear(256, 4000)

        def forward(self, tokens: Any) -> Any:
            return self.decoder(self.lstm(self.embedding(tokens))[0])

    model = Model().to(device)

    def loss() -> Any:
        tokens = torch.randint(0, 4000, (batch, size + 1), device=device)
        logits = model(tokens[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return model, loss


def gpt2(batch: int, size: int, device: str) -> tuple[Any, Callable[[], Any]]:
    """Six layers of 768 in bfloat16 by autocast, random weights; one token in ten is padding."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model: Any = GPT2LMHeadModel(GPT2Config(n_layer=6, n_positions=size))
    model.to(device)

    def loss() -> Any:
        tokens = torch.randint(0, 50257, (batch, size), device=device)
        labels = torch.where(torch.rand(tokens.shape, device=device) < 0.1, -100, tokens)
        with torch.autocast(device.partition(":")[0], torch.bfloat16):
            return model(input_ids=tokens, labels=labels).loss

    return model, loss


MODELS = {"resnet": resnet, "bert": bert, "lstm": lstm, "gpt2": gpt2}
#: Model → (batch, pixels or sequence) that the figures are for.
SIZES = {"resnet": (8, 96), "bert": (8, 128), "lstm": (16, 32)}
#: Of the model that is for GPUs alone.
ON_GPU = {"gpt2": (8, 512)}


def trainer(name: str, batch: int = 0, size: int = 0, device: str = "cpu") -> Callable[[], None]:
    """One training step with AdamW, as a function."""
    import torch

    torch.manual_seed(0)
    usual = {**SIZES, **ON_GPU}[name]
    model, loss = MODELS[name](batch or usual[0], size or usual[1], device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--size", type=int, default=0, help="pixels, or length of the sequence")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    step = trainer(options.model, options.batch, options.size, options.device)
    for _ in range(options.steps):
        step()


if __name__ == "__main__":
    main()
