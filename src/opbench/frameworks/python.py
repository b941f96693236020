"""Plain Python: no tensors but lists of numbers, no gradients."""

from __future__ import annotations

from dataclasses import dataclass

from opbench.define.program import Tensor
from opbench.frameworks import numpy
from opbench.frameworks.framework import Framework


@dataclass(frozen=True)
class Python(Framework):
    def imports(self) -> str:
        return "import random"

    def seed(self) -> str:
        return "random.seed(seed)"

    def thread_env(self, threads: int) -> dict[str, str]:
        """It has no threads, but may import what has: a file may name torch in a function only."""
        return numpy.FRAMEWORK.thread_env(threads)

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        """Nested lists, drawn from the domain; the dtype is whatever Python makes of it."""
        domain = tensor.domain
        text = {
            "ones": "1.0",
            "integers": f"random.randrange({int(domain.low)}, {int(domain.high)})",
            "uniform": f"random.uniform({domain.low}, {domain.high})",
        }.get(domain.kind, "random.gauss(0.0, 1.0)")
        for length in reversed(tensor.shape):
            text = f"[{text} for _ in range({length})]"
        return text


FRAMEWORK = Python("python", rank=1000)
