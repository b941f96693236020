"""Layers of Gluon, where the classic suite had them."""

from __future__ import annotations

from typing import Any

from opbench.compat.ops import lookup, names


def __getattr__(name: str) -> Any:
    return lookup(name, "mxnet", __name__)


def __dir__() -> list[str]:
    return sorted(names("mxnet"))
