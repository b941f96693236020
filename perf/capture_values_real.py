"""The calls of `perf.capture_values` on their real values, for `opbench run` to measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch  # noqa: F401  which makes it a file of torch, in whose workers one thread is one

import opbench as ob
from perf.capture_values import ROWS, calls


def call_and_values(row: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return calls()[row]


@ob.bench(row=list(ROWS), inputs=call_and_values)
def real(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    return function(*values)
