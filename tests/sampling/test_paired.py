"""What is measured together, how many worker starts it gets, and when its ratio is known."""

from __future__ import annotations

import math
import random
from statistics import mean
from typing import Any

import pytest

from opbench.case import Case
from opbench.envs.environments import Environment
from opbench.plan.groups import Baseline, PlannedGroup, groups, placed
from opbench.plan.options import RunOptions
from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.design import Child
from opbench.sampling.paired import (
    CLEAR,
    COARSE_ROUNDS,
    HOPELESS,
    LEAST_SETS,
    LEAST_STARTS,
    MOST_SETS,
    ROUNDS,
    STARTS,
    PairedDesign,
    in_doubt,
    is_known,
)
from opbench.stats.ratio import Ratio, ratio
from opbench.stats.start_variance import StartVariance

HERE, THERE = Environment("here", "python"), Environment("there", "python")


def moded(mode: str) -> Case:
    return Case("ops", "layer", "forward", "f()", labels=(("mode", mode),))


def test_one_group_in_two_environments_is_two_groups():
    """They were not interleaved, so nothing may take them for it."""
    planned = groups([moded("plain"), moded("hooks")], Baseline("mode", "plain"))
    alone = placed(planned, [HERE])
    both = placed(planned, [HERE, THERE])
    assert len(alone) == 1
    assert len({group.id for group in both}) == 2
    assert [{slot.environment.name for slot in group.slots} for group in both] == [
        {"here"},
        {"there"},
    ]


def test_the_sides_of_an_ab_are_one_group():
    crossed = PlannedGroup((moded("plain"),) * 2, (HERE, THERE))
    (group,) = placed([crossed], [HERE, THERE])
    assert [slot.environment.name for slot in group.slots] == ["here", "there"]


def opened(per_call: float = 1e-5, **more: Any) -> PairedDesign:
    """A design of two cases after its first turn, in which a child of each was warmed up."""
    design = PairedDesign(Adaptive(precision=0.02), 2, **more)
    assert design.next().calls == 0
    for case in range(2):
        design.opened(Child(0, case, per_call=per_call))
    design.room(100)
    return design


@pytest.mark.parametrize(("asked", "taken"), [(None, 6), (2, 6), (20, 20)])
def test_a_comparison_takes_more_starts_where_more_are_asked_for(asked, taken):
    """As the reason of an unknown verdict says: --max-starts 20."""
    policy = RunOptions.of({"max_starts": asked}).policy
    design = PairedDesign(policy, 2)
    design.next()
    for case in range(2):
        design.opened(Child(0, case, per_call=1e-5))
    design.room(100)
    assert len(design.starts) == taken


def one_set(
    design: PairedDesign, per_call: float = 1e-5, set_up=0.0, values=None, block_seconds=0.0
):
    """The turns of both cases in all starts until new children would be forked, or the end.

    Gives the number of turns in each start.
    """
    turns: list[int] = []
    made = design._sets
    while not design.finished() and design._sets == made:
        turn = design.next()
        (start,) = turn.starts
        if turn.fresh or not turns:  # the first children are there already
            turns.append(0)
            design._children = []
            for case in range(2):
                design.opened(Child(start, case, seconds=set_up, per_call=per_call))
        for case in range(2):
            value = 1.0 if values is None else values(case, made)
            design.add(Sample(value, start=start, session=made), block_seconds, case)
        turns[-1] += 1
    return turns


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
    design = opened(per_call, relation="interleaved", seconds=5.0)
    assert len(design.starts) == starts
    assert STARTS["interleaved"] == 6


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
        # One child of one start says nothing of what starts do.
        (blocks(1e-5)[:5], blocks(2e-5)[:5], False),
    ],
    ids=["undisturbed", "busy", "zero", "nothing", "few"],
)
def test_a_ratio_is_known_when_it_is_precise(base, other, known):
    assert is_known(ratio(*in_places(base, other), "paired"), 0.01) == known


def in_places(*sides: tuple[Sample, ...]) -> list[list[tuple[int, int, float]]]:
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


def with_sets(sets: int, other: float, spread: float, spent: float) -> PairedDesign:
    """After so many sets of children of six starts, in which the sides scatter by `spread`."""
    design = opened(seconds=5.0)
    for _ in range(sets):
        assert not design.finished()
        one_set(
            design,
            set_up=spent / sets / 6,
            values=lambda case, child: (
                (1.0, other)[case] * (1 + spread * case * (0.5, -0.5, 0.0)[child % 3])
            ),
        )
    return design


@pytest.mark.parametrize(
    ("other", "spent", "sets", "stopped"),
    [
        (1.0, 1.0, 2, "precise"),
        (1.2, 1.0, 2, "precise"),
        # Precise enough, but is it slower? While there is time, find out.
        (1.001, 1.0, 2, ""),
        (1.001, 4.0, 2, "precise"),
        (1.001, 1.0, MOST_SETS, "precise"),
    ],
    ids=["same", "clear", "doubtful", "doubtful, time spent", "doubtful, last set"],
)
def test_a_doubtful_difference_gets_the_rest_of_its_time(other, spent, sets, stopped):
    design = with_sets(sets, other, 0.001, spent)
    assert design.stopped == stopped
    assert design.finished() == bool(stopped)


def test_nothing_is_left_to_know_of_what_failed():
    design = opened()
    design.dropped(1)
    for made in range(LEAST_SETS):
        for turn in iter(design.next, None):
            design.add(Sample(1.0, start=turn.starts[0], session=made))
            if design._sets > made:
                break
    assert design.finished()
    assert (design.stopped, design.active) == ("precise", {0})


def test_a_group_of_which_all_fail_is_finished():
    design = opened()
    design.next()
    design.dropped(0)
    assert not design.finished()
    design.dropped(1)
    assert design.finished()


def test_every_set_has_children_of_its_own_in_every_start():
    design = opened()
    fresh = []
    while not design.finished():
        turn = design.next()
        if turn.fresh:
            fresh.append(turn.starts)
        for case in range(2):
            design.opened(Child(turn.starts[0], case, per_call=1e-5))
            design.add(Sample(1.0 + case, start=turn.starts[0], session=len(fresh)), case=case)
    every = [(start,) for start in range(STARTS["paired"])] * LEAST_SETS
    assert fresh == every[1:], "the children of the first turn are those of the first set"


def test_cases_too_large_to_live_together_cannot_be_paired():
    design = PairedDesign(Adaptive(), 2)
    design.next()
    design.room(0)
    assert design.too_large
    assert design.finished()


@pytest.mark.parametrize(
    ("per_call", "rounds"),
    [(1e-6, COARSE_ROUNDS), (0.5, 5), (1.2, 3), (1.3, 1), (3.0, 1), (60.0, 1)],
)
def test_turns_that_take_far_more_than_the_time_are_taken_once(per_call, rounds):
    # 30 s for both cases in six starts are 5 s for each start.
    design = opened(seconds=15.0)
    assert one_set(design, per_call=per_call) == [rounds] * 6


@pytest.mark.parametrize(("block_seconds", "rounds"), [(0.01, COARSE_ROUNDS), (0.5, 5), (9.0, 1)])
def test_what_a_block_takes_beyond_its_calls_counts(block_seconds, rounds):
    """A GPU's recorder is attached for a tenth of a second to see a microsecond."""
    design = opened(seconds=15.0)
    assert one_set(design, per_call=1e-6, block_seconds=block_seconds) == [rounds] * 6


@pytest.mark.parametrize(
    ("set_up", "rounds"),
    # Of 5 s for each start, what two children left; at least half of what they took.
    [(0.5, 8), (1.5, 4), (3.0, 6)],
)
def test_setting_up_is_part_of_the_time_of_a_start(set_up, rounds):
    design = opened(seconds=15.0)
    assert one_set(design, 1e-6, set_up, block_seconds=0.25) == [rounds] * 6


def sequence(
    rng: random.Random, learnt: StartVariance, effect: float, *, doubt: bool
) -> tuple[float, int]:
    """The p-value at which a simulated pair stops, and after how many sets of children.

    Blocks scatter by 2 %, children by 0.4 %, starts by 0.2 %, as they do on a shared machine.
    """
    sides: list[list[tuple[int, int, float]]] = [[], []]
    starts = [rng.gauss(0, 0.002) for _ in range(STARTS["paired"])]
    for taken in range(1, MOST_SETS + 1):
        for start, shift in enumerate(starts):
            child = math.log1p(effect) + shift + rng.gauss(0, 0.004)
            for _ in range(ROUNDS if taken > LEAST_SETS else COARSE_ROUNDS):
                for side, log in zip(sides, (0.0, child), strict=True):
                    side.append((start, taken, math.exp(log + rng.gauss(0, 0.02))))
        found = ratio(*sides, "paired", pair=learnt.prior)
        assert found is not None
        stops = is_known(found, 0.015) and not (doubt and in_doubt(found))
        if taken >= LEAST_SETS and stops:
            break
    learnt.add(found)
    return found.p_value, taken


def test_going_on_while_in_doubt_finds_more_and_blames_no_more():
    rng = random.Random(3)
    learnt = StartVariance()
    shares = {
        (effect, doubt): [sequence(rng, learnt, effect, doubt=doubt) for _ in range(80)]
        for effect in (0.0, 0.01)
        for doubt in (False, True)
    }

    def below(effect: float, doubt: bool, p: float) -> float:
        return mean(value < p for value, _ in shares[effect, doubt])

    assert below(0.0, True, 0.05) <= 0.08
    # What a suite of fifty asks of a case; without going on, a quarter of them.
    assert below(0.01, False, 0.005) < 0.5 < 0.65 < below(0.01, True, 0.005)
    assert mean(sets for _, sets in shares[0.0, True]) < 3
