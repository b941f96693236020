"""What a call left behind is released before the next one is accounted for."""

from __future__ import annotations

import ast

import pytest

from opbench.worker.memory.lines import made_by


@pytest.mark.parametrize(
    ("statement", "made"),
    [
        ("x.grad = None\ny = exp(x)\ny.backward(grad)", ["y"]),
        ("y, i = sort(x)", ["y", "i"]),
        ("this += other\ny = this", ["y"]),
        ("total = total + x", []),
        ("with record():\n    y = exp(x)\ny.backward(grad)", ["y"]),
        ("x[0] = y", []),
    ],
)
def test_results_are_what_is_assigned_before_it_is_read(statement, made):
    assert made_by(ast.parse(statement).body) == made
