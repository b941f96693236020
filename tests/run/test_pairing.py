"""What is measured together, how many worker starts it gets, and when its ratio is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from opbench.case import Case
from opbench.result import Sample
from opbench.run.environments import Environment
from opbench.run.pairing import LEAST_STARTS, STARTS, _affordable, _is_known
from opbench.run.plan import Baseline, PlannedGroup, groups, work
from opbench.stats.estimate import LAYOUT

HERE, THERE = Environment("here", "python"), Environment("there", "python")


def moded(mode: str) -> Case:
    return Case("ops", "layer", "forward", "f()", labels=(("mode", mode),))


def test_one_group_in_two_environments_is_two_groups():
    """They were not interleaved, so nothing may take them for it."""
    planned = groups([moded("plain"), moded("hooks")], Baseline("mode", "plain"))
    alone = work(planned, [HERE])
    both = work(planned, [HERE, THERE])
    assert len(alone) == 1
    assert len({group.id for group in both}) == 2
    assert [{slot.environment.name for slot in group.slots} for group in both] == [
        {"here"},
        {"there"},
    ]


def test_the_sides_of_an_ab_are_one_group():
    crossed = PlannedGroup((moded("plain"),) * 2, (HERE, THERE))
    (group,) = work([crossed], [HERE, THERE])
    assert [slot.environment.name for slot in group.slots] == ["here", "there"]


def member(per_call: float = 1e-5, samples: tuple[Sample, ...] = ()) -> Any:
    lane = SimpleNamespace(per_call=per_call)
    return SimpleNamespace(lanes=[lane], ended=None, samples=lambda: list(samples))


@pytest.mark.parametrize(
    ("per_call", "starts"),
    [
        (0.0, 6),
        (1e-6, 6),
        # Two sides of six calls at least: 10 s buy six starts of 0.13 s per call, four of 0.2 s.
        (0.13, 6),
        (0.2, 4),
        (60.0, LEAST_STARTS),
    ],
)
def test_slow_calls_get_fewer_starts_but_never_too_few(per_call, starts):
    group: Any = SimpleNamespace(members=[member(per_call), member(per_call)])
    assert _affordable(group, STARTS["interleaved"], 10.0) == starts


def blocks(value: float, contended: bool = False) -> tuple[Sample, ...]:
    return tuple(
        Sample(value, start=start, session=child, contended=contended)
        for start in range(4)
        for child in range(2)
        for _ in range(5)
    )


@pytest.mark.parametrize(
    ("base", "other", "known"),
    [
        (blocks(1e-5), blocks(2e-5), True),
        # A machine that is busy throughout: its blocks are all there is, and they count.
        (blocks(1e-5, contended=True), blocks(2e-5, contended=True), True),
        # No ratio is not a known ratio.
        (blocks(0.0), blocks(2e-5), False),
        (blocks(1e-5), (), False),
        # One child of one start: 0.76 % · 2.78 (t of four degrees) is 2.1 %.
        (blocks(1e-5)[:5], blocks(2e-5)[:5], False),
    ],
    ids=["calm", "busy", "zero", "nothing", "few"],
)
def test_a_ratio_is_known_when_it_is_precise(base, other, known):
    both = [member(samples=base), member(samples=other)]
    group: Any = SimpleNamespace(members=both, base=0, design="paired", layout=LAYOUT)
    assert _is_known(group, both[0], 0.01)  # the baseline has none to know
    assert _is_known(group, both[1], 0.01) == known


def test_nothing_is_left_to_know_of_what_failed():
    failed = member()
    failed.ended = "crashed"
    group: Any = SimpleNamespace(members=[member(), failed], base=0, design="paired", layout=LAYOUT)
    assert _is_known(group, failed, 0.01)
