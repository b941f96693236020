"""Odd values of every parameter of every operator: refused with a rule before anything runs, or
they work. A framework's own error reaches nobody.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from tests.late import needs
from tests.suites.ops.inprocess import called, check_all

from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.entry import Operator, Shape
from opbench.suites.ops.given import check, is_shape, text_of
from opbench.suites.ops.needs import parameters

needs("torch")

#: So many of each operator's odd values are tried in the quick test, always the same ones.
FEW = 5
NUMBERS: dict[type, tuple[Any, ...]] = {
    bool: (2,),
    int: (0, -1, 1, 2, 3, 7, 99999),
    float: (0.0, -1.0, 1.0, 2.0, 1e30, -1e30),
    tuple: (0, -1, 1, 2, 5, 99999),
}


def odd_shapes(usual: Shape) -> Iterator[Shape]:
    """Of other ranks, without elements, and smaller than a window."""
    yield from ((), (0,), (7,), (2, *usual), usual[1:])
    yield from ((side,) * len(usual) for side in (0, 1, 3))
    for axis in range(len(usual)):
        yield from ((*usual[:axis], side, *usual[axis + 1 :]) for side in (0, 1, 2, 7))
    yield from ((*usual[:2], *(side,) * (len(usual) - 2)) for side in (0, 1, 2))


def odd_values(operator: Operator) -> list[tuple[str, Any]]:
    found: dict[tuple[str, Any], None] = {}
    for name, usual in vars(operator.values(size_of(operator))).items():
        if name == "dtype":
            continue
        if isinstance(usual, tuple) and is_shape(operator, name):
            values: Any = odd_shapes(usual)
        elif isinstance(usual, str) or usual is None:
            values = ("int8", "foo", "")
        else:
            values = NUMBERS[type(usual)]
        found |= {(name, text_of(value)): None for value in values}
    return list(found)


def size_of(operator: Operator) -> str:
    return "small" if "small" in operator.sizes else "typical"


def run(operator: Operator, framework: str, name: str, value: Any) -> None:
    """Once, at its default stage, unless it is refused."""
    axes = {"framework": [framework], "size": [size_of(operator)], name: [value]}
    axes |= {"form": ["fused"]} if operator.parts else {}
    try:
        cases = expand([operator_definition(operator)], axes=axes)
    except UserError:
        return
    for case in cases:
        if not case.unsupported:
            called(case)


def check_odd(operator: Operator, framework: str, most: int) -> None:
    odd = odd_values(operator)
    chosen = random.Random(operator.name).sample(odd, min(most, len(odd)))
    for name, value in chosen:
        try:
            run(operator, framework, name, value)
        except Exception as error:
            raise AssertionError(f"{name}={value}: {type(error).__name__}: {error}") from None


def check_framework(framework: str, most: int) -> None:
    operators = [each for each in catalogue().values() if each.call(framework)]
    check_all(operators, lambda operator: check_odd(operator, framework, most))


@pytest.fixture
def little_memory(monkeypatch):
    """What a parameter makes large is refused, rather than filled with numbers."""
    from opbench.suites.ops import scaling

    monkeypatch.setattr(scaling, "free_memory", lambda: 2.0**27)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("framework", ["torch", "numpy"])
def test_a_few_odd_values_of_every_operator_are_refused_or_work(little_memory, framework):
    check_framework(framework, FEW)


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "most"), [("torch", 10_000), ("numpy", 10_000), ("jax", 12)])
def test_odd_values_of_every_operator_are_refused_or_work(little_memory, framework, most):
    check_framework(framework, most)


def test_needs_hold_at_every_size_in_every_framework():
    """So those are what a message can say would fit."""
    for operator in catalogue().values():
        assert all(parameters(operator, need) for need in operator.needs), operator.name
        for size in ("typical", *operator.sizes):
            for framework in operator.spelling:
                check(operator, size, operator.values(size), framework, backward=True)
