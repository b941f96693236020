"""Designs on invented samples, without a clock: whose turn is next, and when there are enough."""

from __future__ import annotations

import pytest

from opbench.plan.policy import Adaptive, Fixed
from opbench.result import Sample
from opbench.sampling.adaptive import STARTS_AT_ONCE, AdaptiveDesign
from opbench.sampling.design import Child, Design, Turn, marked
from opbench.sampling.fixed import REPORT_EVERY, FixedDesign
from opbench.stats.prior import Prior
from opbench.stats.start_variance import Learnt


def driven(
    design: Design,
    value=lambda start, block: 1.0,
    *,
    seconds: float = 0.001,
    calls: int = 1,
    set_up: float = 0.01,
    room: int = 100,
    most: int = 10_000,
) -> list[Turn]:
    """All turns of a design of one case whose blocks, of so many calls, and set-ups take as long as
    given."""
    turns: list[Turn] = []
    alive: set[int] = set()
    blocks: dict[int, int] = {}
    while not design.finished() and len(turns) < most:
        turn = design.next()
        turns.append(turn)
        if turn.fresh or turn.alone:
            alive.clear()
        for start in set(turn.starts) - alive:
            alive.add(start)
            design.opened(Child(start, seconds=set_up, per_call=seconds / calls))
        for start in turn.starts if turn.calls != 0 else ():
            block = blocks[start] = blocks.get(start, -1) + 1
            design.add(Sample(value(start, block), start=start, order=len(turns)), seconds)
        if len(turns) == 1:
            design.room(room)
    return turns


def scattered(start: int, block: int) -> float:
    return 1.0 + 0.3 * (3 * block % 5)


def test_equal_samples_are_precise_after_the_least_rounds():
    design = AdaptiveDesign(Adaptive(precision=0.05))
    turns = driven(design)
    assert turns[0] == Turn((0,), calls=0), "the first child shows what a call costs"
    # Five starts at least: fewer agree by luck.
    assert {turn.starts for turn in turns[1:]} == {(0, 1, 2, 3, 4)}
    assert len(turns) == 1 + Adaptive.min_rounds
    assert design.stopped == "precise"
    assert len(design.result()) == 5 * Adaptive.min_rounds


def test_calls_that_take_as_long_as_several_blocks_need_fewer_rounds():
    design = AdaptiveDesign(Adaptive(precision=0.05))
    turns = driven(design, seconds=2 * Adaptive.block_seconds)
    assert (design.stopped, len(turns)) == ("precise", 1 + 3)
    assert len(design.result()) == 5 * 3


def test_a_first_case_needs_more_starts_than_one_whose_machine_is_known():
    """The same equal samples: what other cases showed, five starts confirm."""
    counts = []
    for learnt in (Learnt(), Learnt(Prior(0.01, 4))):
        design = AdaptiveDesign(Adaptive(precision=0.02), learnt=learnt)
        driven(design)
        assert design.stopped == "precise"
        counts.append(len({sample.start for sample in design.result()}))
    assert counts[0] > counts[1] == 5


def test_a_finer_precision_takes_more_starts():
    taken = []
    for precision in (0.05, 0.02):
        design = AdaptiveDesign(Adaptive(precision=precision))
        driven(design)
        assert design.stopped == "precise"
        taken.append(len({sample.start for sample in design.result()}))
    assert taken[0] < taken[1]


def test_scattered_blocks_go_on_until_the_time_is_spent():
    design = AdaptiveDesign(Adaptive(precision=1e-6, max_time=1.0, max_starts=3))
    driven(design, scattered, seconds=0.05)
    assert design.stopped == "time"
    assert 1.0 <= design.spent[0] < 1.15 + 1e-9, "no longer than one more round"


def test_where_starts_decide_more_are_added_and_first_catch_up():
    design = AdaptiveDesign(Adaptive(precision=0.03, max_starts=9))
    turns = driven(design, lambda start, block: 1.0 + 0.1 * (start % 3))
    first = turns[1].starts
    assert first == (0, 1, 2, 3, 4)
    added = [turn.starts for turn in turns if not set(turn.starts) & set(first)]
    joined = tuple(range(5, 5 + min(STARTS_AT_ONCE, 4)))
    assert added[: Adaptive.min_rounds] == [joined] * Adaptive.min_rounds
    assert {sample.start for sample in design.result()} == set(range(9))
    assert design.stopped == "starts", "all that are allowed have been taken"


def test_no_start_is_added_for_which_there_is_no_time():
    design = AdaptiveDesign(Adaptive(precision=1e-3, max_time=1.0, starts=3, max_starts=3))
    design.policy = Adaptive(precision=1e-3, max_time=1.0, max_starts=9)
    driven(design, lambda start, block: 1.0 + 0.1 * start, set_up=0.3)
    assert design.stopped == "time"
    assert {sample.start for sample in design.result()} == {0, 1, 2}


@pytest.mark.parametrize(
    ("known", "seconds", "starts"),
    [
        (0.0, 0.001, 5),
        (0.0, 1.5, 3),
        # One or two would leave this case, and those after it, with what is known of no machine.
        (0.0, 2.4, 3),
        (1.5, 2.4, 3),
        (4.0, 2.4, 2),
        (0.0, 9.0, 1),
    ],
)
def test_slow_calls_get_as_many_starts_as_their_time_pays(known, seconds, starts):
    learnt = Learnt(Prior(0.05, known))
    design = AdaptiveDesign(Adaptive(precision=0.05, max_time=5.0), learnt=learnt)
    driven(design, seconds=seconds)
    assert len({sample.start for sample in design.result()}) == starts


def test_starts_that_do_not_fit_together_follow_each_other():
    design = AdaptiveDesign(Adaptive(precision=0.05))
    turns = driven(design, room=2)
    assert design.in_turns
    order = [turn.starts for turn in turns[1:]]
    assert order == sorted(order)
    assert set(order) == {(0,), (1,), (2,), (3,), (4,)}
    # The first one's child is there already; the others are forked when those before have ended.
    assert [turn.starts for turn in turns if turn.fresh] == [(1,), (2,), (3,), (4,)]
    assert design.stopped == "precise"


def test_each_start_has_its_share_of_the_time_where_one_follows_the_other():
    design = AdaptiveDesign(Adaptive(precision=1e-9, max_time=3.0, max_starts=3))
    driven(design, scattered, room=1, seconds=0.1)
    blocks = [sample.start for sample in design.result()]
    assert all(9 <= blocks.count(start) <= 11 for start in range(3))


@pytest.mark.parametrize(
    ("seconds", "blocks"),
    [
        # Five blocks of 0.04 s add no more than half of the 0.4 s that setting up took.
        (0.04, 5),
        # Three of 0.15 s cost no more than setting up did.
        (0.15, 3),
        (0.5, 1),
    ],
)
def test_a_long_set_up_is_worth_a_few_blocks_beyond_the_time(seconds, blocks):
    design = AdaptiveDesign(Adaptive(precision=1e-9, max_time=0.3))
    driven(design, seconds=seconds, calls=20, set_up=0.4)
    assert (design.stopped, len(design.result())) == ("time", blocks)


def test_start_numbers_go_on_where_an_earlier_pass_ended():
    design = AdaptiveDesign(Adaptive(precision=0.05), first_start=7)
    turns = driven(design)
    assert turns[0].starts == (7,)
    assert turns[-1].starts == (7, 8, 9, 10, 11)


def test_a_case_that_fails_ends_its_design():
    design = AdaptiveDesign(Adaptive())
    design.next()
    design.dropped(0)
    design.room(1)
    assert design.finished()
    assert design.stopped == ""


def test_estimates_are_reported_with_what_was_spent():
    reports = []
    design = AdaptiveDesign(Adaptive(precision=0.05), report=lambda *what: reports.append(what))
    driven(design)
    case, estimate, spent = reports[-1]
    assert (case, estimate.value, spent) == (0, 1.0, design.spent[0])


def test_fixed_runs_take_the_starts_in_turn_and_set_up_each_run():
    reports = []
    policy = Fixed(num_runs=7, num_repeats=4)
    design = FixedDesign(policy, report=lambda *what: reports.append(what))
    turns = driven(design)
    assert [turn.starts for turn in turns] == [(0,), (1,), (2,), (0,), (1,), (2,), (0,)]
    assert [turn.run for turn in turns] == list(range(7))
    assert {turn.calls for turn in turns} == {4}
    assert not any(turn.alone or turn.fresh for turn in turns)
    assert design.stopped == "runs"
    assert len(reports) == 7 // REPORT_EVERY


def test_fixed_runs_whose_children_do_not_fit_are_alone_from_the_second_on():
    turns = driven(FixedDesign(Fixed(num_runs=4)), room=2)
    assert [turn.alone for turn in turns] == [False, True, True, True]


def test_a_fixed_design_goes_on_with_the_cases_that_do_not_fail():
    design = FixedDesign(Fixed(num_runs=2, starts=1), cases=2)
    design.next()
    design.add(Sample(1.0), case=1)
    design.dropped(0)
    design.next()
    design.add(Sample(1.0), case=1)
    assert design.finished()
    assert (design.stopped, design.active) == ("runs", {1})


def test_disturbed_blocks_are_judged_child_by_child_and_keep_their_place():
    def block(session: int, wait: float, order: int) -> Sample:
        cpu = int(1000 * (1 - wait))
        return Sample(1.0, 0, session, order, wall_ns=1000, cpu_ns=cpu, switches=1)

    # The second child always waits, as its case does; only the first was disturbed, once.
    waits = [(0, 0.0), (1, 0.5), (0, 0.5), (1, 0.5), (0, 0.0), (1, 0.5), (0, 0.0), (1, 0.5)]
    samples = [block(session, wait, order) for order, (session, wait) in enumerate(waits)]
    found = marked(samples)
    assert [sample.order for sample in found] == list(range(8))
    assert [sample.order for sample in found if sample.contended] == [2]
