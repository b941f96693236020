from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from opbench.cli.main import main

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
FIXED = ("--num-runs", "1", "--num-repeats", "2")


@pytest.fixture
def bench_file(tmp_path: Path) -> Path:
    path = tmp_path / "bench_small.py"
    path.write_text(BENCH)
    return path


@pytest.fixture
def fixed() -> tuple[str, ...]:
    return FIXED


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    """The entry point of the console script, called in this process: quick where nothing runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: object) -> CompletedProcess[str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["opbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return CompletedProcess(sys.argv, int(left.value.code or 0), out, err)

    return call
