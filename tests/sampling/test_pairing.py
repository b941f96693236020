"""What is measured together, how many worker starts it gets, and when its ratio is known."""

from __future__ import annotations

import math
import random
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from opbench.case import Case
from opbench.envs.environments import Environment
from opbench.plan.groups import Baseline, PlannedGroup, groups, work
from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.pairing import (
    CLEAR,
    COARSE_ROUNDS,
    HOPELESS,
    LEAST_SETS,
    LEAST_STARTS,
    MOST_SETS,
    ROUNDS,
    STARTS,
    _affordable,
    _consider,
    _one_set,
    in_doubt,
    is_known,
)
from opbench.stats.estimate import DEFAULT_START_SD
from opbench.stats.ratio import Ratio, ratio

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
    assert is_known(ratio(*placed(base, other), "paired"), 0.01) == known


def placed(*sides: tuple[Sample, ...]) -> list[list[tuple[int, int, float]]]:
    return [[(s.start, s.session, s.value) for s in side] for side in sides]


def judged(log: float, error: float = 0.005) -> Ratio:
    value = math.exp(log)
    return Ratio(value, value * (1 - 2 * error), value * (1 + 2 * error), 4, "paired", error, 11)


@pytest.mark.parametrize(
    ("errors", "doubtful"),
    [(0.0, False), (1.0, False), (1.5, True), (-2.5, True), (4.0, True), (6.0, False)],
)
def test_what_is_neither_the_same_nor_clearly_different_is_in_doubt(errors, doubtful):
    found = judged(0.005 * errors)
    assert (CLEAR < found.p_value < HOPELESS) == doubtful
    assert in_doubt(found) == doubtful
    assert not in_doubt(None)


def member_with(value: float, spread: float, spent: float) -> Any:
    """Two sets of children of four starts; the sides scatter by `spread` from set to set."""
    samples = [
        Sample(value * (1 + spread * (child - 0.5)), start=start, session=2 * start + child)
        for start in range(4)
        for child in range(2)
        for _ in range(5)
    ]
    return SimpleNamespace(
        ended=None, done=False, stopped="", case=None, spent=spent, closed=[None] * 8,
        samples=lambda: samples, estimate=lambda _layout: None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "spent", "last", "stopped"),
    [
        (1.0, 1.0, False, "precise"),
        (1.2, 1.0, False, "precise"),
        # Precise enough, but is it slower? While there is time, find out.
        (1.005, 1.0, False, ""),
        (1.005, 4.0, False, "precise"),
        (1.005, 1.0, True, "precise"),
    ],
    ids=["same", "clear", "doubtful", "doubtful, time spent", "doubtful, last set"],
)
def test_a_doubtful_difference_gets_the_rest_of_its_time(other, spent, last, stopped):
    both = [member_with(1.0, 0.0, spent), member_with(other, 0.001, spent)]
    group: Any = SimpleNamespace(
        members=both, base=0, design="paired", layout=DEFAULT_START_SD, on_estimate=None
    )
    _consider(group, Adaptive(precision=0.02), starts=4, allowance=10.0, last=last)
    assert {one.stopped for one in both} == {stopped}
    assert all(one.done for one in both) == bool(stopped)


def test_nothing_is_left_to_know_of_what_failed():
    both = [member_with(1.0, 0.0, 1.0), member_with(1.0, 0.0, 1.0)]
    both[1].ended = "crashed"
    group: Any = SimpleNamespace(
        members=both, base=0, design="paired", layout=DEFAULT_START_SD, on_estimate=None
    )
    _consider(group, Adaptive(precision=0.02), starts=4, allowance=10.0, last=False)
    assert all(one.done for one in both)


@pytest.mark.parametrize(
    ("per_call", "rounds"),
    [(1e-6, COARSE_ROUNDS), (0.5, 5), (1.2, 3), (2.0, 3), (3.0, 1), (60.0, 1)],
)
def test_a_turn_that_takes_all_the_time_is_taken_once(per_call, rounds):
    taken: list[int] = []
    lanes = [SimpleNamespace(n=1, per_call=per_call) for _ in range(2)]
    members = [
        SimpleNamespace(lanes=[lane], ended=None, name=name) for name, lane in enumerate(lanes)
    ]
    group: Any = SimpleNamespace(
        members=members, rng=random.Random(1), open_all=lambda _index: None, close=lambda: None,
        block=lambda member, _lane: taken.append(member.name),
    )  # fmt: skip
    _one_set(group, Adaptive(precision=0.02), 0, 5.0, 0)
    assert sorted(taken) == [0] * rounds + [1] * rounds


def sequence(rng: random.Random, effect: float, *, doubt: bool) -> tuple[float, int]:
    """The p-value at which a simulated pair stops, and after how many sets of children.

    Blocks scatter by 2 %, children by 0.4 %, starts by 0.2 %, as they do on a shared machine.
    """
    sides: list[list[tuple[int, int, float]]] = [[], []]
    starts = [rng.gauss(0, 0.002) for _ in range(4)]
    for made in range(1, MOST_SETS + 1):
        for start, shift in enumerate(starts):
            child = math.log1p(effect) + shift + rng.gauss(0, 0.004)
            for _ in range(ROUNDS if made > LEAST_SETS else COARSE_ROUNDS):
                for side, log in zip(sides, (0.0, child), strict=True):
                    side.append((start, made, math.exp(log + rng.gauss(0, 0.02))))
        found = ratio(*sides, "paired")
        assert found is not None
        stops = is_known(found, 0.015) and not (doubt and in_doubt(found))
        if made >= LEAST_SETS and stops:
            break
    return found.p_value, made


def test_going_on_while_in_doubt_finds_more_and_blames_no_more():
    rng = random.Random(3)
    shares = {
        (effect, doubt): [sequence(rng, effect, doubt=doubt) for _ in range(80)]
        for effect in (0.0, 0.01)
        for doubt in (False, True)
    }

    def below(effect: float, doubt: bool, p: float) -> float:
        return mean(value < p for value, _ in shares[effect, doubt])

    assert below(0.0, True, 0.05) <= 0.08
    # What a suite of fifty asks of a case; without going on, a quarter of them.
    assert below(0.01, False, 0.005) < 0.5 < 0.65 < below(0.01, True, 0.005)
    assert mean(sets for _, sets in shares[0.0, True]) < 3
