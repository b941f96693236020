"""Which blocks other programs disturbed, judged by what was counted with them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opbench.result import Sample
from opbench.stats.contention import computes, contended, disturbed_share


def counted(wall_ns: int, cpu_ns: int, switches: int, contended: bool = False) -> Sample:
    return Sample(1.0, wall_ns=wall_ns, cpu_ns=cpu_ns, switches=switches, contended=contended)


def block(waited: float = 0.0, switches: int = 0, contended: bool = False) -> Sample:
    wall = 2_000_000
    return counted(wall, round(wall * (1 - waited)), switches, contended)


def test_nothing_is_disturbed_where_nothing_was_measured():
    assert contended([]) == []


def test_a_block_that_waited_and_was_preempted_is_disturbed():
    blocks = [block()] * 9 + [block(waited=0.3, switches=2)]
    assert contended(blocks) == [False] * 9 + [True]


def test_waiting_alone_or_switching_alone_is_not_enough():
    assert not any(contended([block()] * 9 + [block(waited=0.3)]))
    assert not any(contended([block()] * 9 + [block(switches=5)]))
    # 4 % more than the quiet ones is within what the clocks themselves do.
    assert not any(contended([block()] * 9 + [block(waited=0.04, switches=1)]))


def test_what_is_usual_is_the_lower_quartile_and_not_the_one_quietest_block():
    # A case that waits by itself, 10 %, and was once lucky: nothing disturbed it.
    waiting = [block(0.1, 1)] * 9
    assert not any(contended([block(0.0, 0), *waiting]))
    # Where a quarter of the blocks was quiet, the others were disturbed.
    assert contended([*[block()] * 3, *waiting[:7]]) == [False] * 3 + [True] * 7


def test_a_case_that_always_sleeps_is_compared_with_itself():
    sleeping = [block(waited=0.9, switches=1)] * 10
    assert not any(contended(sleeping))
    assert contended([*sleeping, block(waited=0.99, switches=1)])[-1]


def test_a_machine_that_is_busy_all_the_time_is_seen_although_no_block_is_undisturbed():
    crowd = [block(0.6, 2)] * 10
    assert not any(contended(crowd))
    assert disturbed_share(crowd) == 1.0
    assert disturbed_share([block(0.9, 0)] * 10) == 0.0  # it sleeps by itself
    assert disturbed_share([block(0.1, 1)] * 10) == 0.0
    assert disturbed_share([block(0.0, 0)] * 3 + [block(0.1, 1, contended=True)]) == 0.25
    assert disturbed_share([]) == 0.0


def test_many_threads_use_more_cpu_than_wall_time():
    busy = [counted(1000, 2000, 0)] * 8
    assert not any(contended(busy))
    assert not any(contended([counted(0, 0, 3)]))


def test_a_thread_that_waits_for_a_core_holds_up_the_others():
    """Two threads beside a busy program: one of them always runs, so CPU time lacks nothing."""
    alone = Sample(1.0, wall_ns=1000, cpu_ns=2000)
    beside = Sample(3.5, wall_ns=3500, cpu_ns=3500, switches=3, queued_ns=2700)
    assert contended([alone] * 6 + [beside] * 2) == [False] * 6 + [True] * 2
    assert disturbed_share([beside] * 8) == 1.0
    assert disturbed_share([alone] * 8) == 0.0


def test_what_a_case_waits_for_by_itself_is_no_sign_of_other_programs():
    """A nap of 20 ms that is preempted once when it wakes, and waits 0.5 ms for the core."""
    nap = Sample(0.02, wall_ns=20_600_000, cpu_ns=100_000, switches=1, queued_ns=500_000)
    assert disturbed_share([nap] * 8) == 0.0
    late = Sample(0.03, wall_ns=30_000_000, cpu_ns=100_000, switches=1, queued_ns=9_900_000)
    assert disturbed_share([late] * 8) == 1.0


def test_a_shared_core_matters_to_what_computes():
    assert computes(wall_ns=2_000_000, cpu_ns=1_990_000)
    assert computes(wall_ns=2_000_000, cpu_ns=200_000)
    assert not computes(wall_ns=3_100_000, cpu_ns=80_000)


noise = st.builds(counted, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 5))


@given(st.lists(noise, max_size=30), st.integers(1, 1000))
def test_units_do_not_matter_and_undisturbed_blocks_are_at_least_a_quarter(blocks, factor):
    marks = contended(blocks)
    assert len(marks) == len(blocks)
    scaled = [counted(b.wall_ns * factor, b.cpu_ns * factor, b.switches) for b in blocks]
    assert contended(scaled) == marks
    # The usual level is the lower quartile: at least that many blocks are never disturbed.
    assert marks.count(False) >= (len(blocks) + 3) // 4
