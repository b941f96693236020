from __future__ import annotations

from pathlib import Path

import pytest

BENCH = """
import opbench as ob


@ob.bench(n=[1, 10], mode=["plain", "doubled"])
def total(n, mode):
    sum(range(n * 2 if mode == "doubled" else n))


def sorted_inputs(n):
    return (list(range(n)),)


@ob.bench(inputs=sorted_inputs, n=[100], stages=["forward"])
def ordered(values):
    sorted(values)
"""

#: Quick, and what matters here is not how precise.
FIXED = ("--num-runs", "3", "--num-repeats", "2")


@pytest.fixture
def bench_file(tmp_path: Path) -> Path:
    path = tmp_path / "bench_small.py"
    path.write_text(BENCH)
    return path


@pytest.fixture
def fixed() -> tuple[str, ...]:
    return FIXED
