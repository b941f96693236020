"""`opbench op`: one operator at once."""

from __future__ import annotations

import re

import pytest


def test_one_operator_is_measured_without_a_store(opbench_here, own_pool, tmp_path):
    arguments = ("--framework", "numpy", "-a", "size=small", "--stage", "forward")
    done = opbench_here("op", "Add", *arguments, "--max-time-per-case", "0.2s")
    assert done.returncode == 0, done.stderr
    heading, _, row = [line for line in done.stdout.splitlines() if line.strip()]
    assert heading.split() == ["numpy"]
    assert re.search(r"size=small, dtype=float32 +[\d.]+ .s ± ", row)
    assert not (tmp_path / ".opbench").exists()
    assert "numpy" in opbench_here("workers").stdout


def test_mistakes_are_one_line(opbench_here, own_pool):
    done = opbench_here("op", "ad")
    assert done.returncode == 2
    assert done.stderr.startswith("opbench: unknown operator 'ad'; did you mean")
    done = opbench_here("op", "add", "--framework", "numpi")
    assert done.returncode == 2
    assert done.stderr.startswith("opbench: unknown framework 'numpi'; did you mean numpy")


@pytest.mark.slow
def test_frameworks_stand_side_by_side(opbench_here, own_pool):
    done = opbench_here("op", "add", "--framework", "torch,numpy", "-a", "size=small")
    assert done.returncode == 0, done.stderr
    heading, _, row = [line for line in done.stdout.splitlines() if line.strip()]
    assert heading.split() == ["torch", "numpy"]
    assert re.search(r"(slower|faster|same|unknown)", row)
