"""The loop that most of these scripts share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


def train(model: Any, batches: Iterable[Any], loss_of: Callable[[Any], Any]) -> list[float]:
    """One step per batch; the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for batch in batches:
        loss = loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def begin() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
