"""A run's time is shared out between its groups, and what comes on top is put aside."""

from __future__ import annotations

import pytest

from opbench.plan.budget import LEAST, SEEN, Budget


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def measured(groups: int, seconds: float, on_top: float, starting: float = 0.0) -> list[float]:
    """The shares of all groups, when each uses all of its share and `on_top` besides."""
    clock = Clock()
    budget = Budget(seconds, groups, clock)
    shares = []
    clock.now += starting
    for _ in range(groups):
        clock.now += on_top
        shares.append(budget.share(starting))
        clock.now += shares[-1]
        budget.note(shares[-1])
    return shares


def test_without_anything_on_top_all_get_the_same() -> None:
    assert measured(10, 50.0, 0.0) == pytest.approx([5.0] * 10)


def test_what_comes_on_top_is_not_taken_from_the_last() -> None:
    shares = measured(100, 100.0, on_top=0.6)
    assert max(shares) < 0.45
    assert min(shares) > 0.35


def test_the_run_keeps_to_its_seconds_where_it_can() -> None:
    shares = measured(100, 100.0, on_top=0.6)
    assert sum(shares) + 100 * 0.6 == pytest.approx(100.0, rel=0.02)


def test_worker_starts_are_not_expected_again() -> None:
    shares = measured(20, 100.0, on_top=0.0, starting=20.0)
    assert shares == pytest.approx([4.0] * 20)


def test_sampling_always_gets_a_part() -> None:
    clock = Clock()
    budget = Budget(100.0, 10, clock)
    clock.now += 20.0  # at this rate nothing would be left
    assert budget.share() == pytest.approx(LEAST * 8.0)


def test_a_late_group_is_given_nothing_rather_than_less() -> None:
    clock = Clock()
    budget = Budget(1.0, 2, clock)
    clock.now += 5.0
    assert budget.left == 0.0
    assert budget.share() == 0.0


@pytest.mark.parametrize(("each", "expected"), [(0.9, 0.0), (1.2, 0.0), (2.0, 200.0)])
def test_that_a_budget_will_not_do_is_said_once_and_early(each: float, expected: float) -> None:
    clock = Clock()
    budget = Budget(100.0, 100, clock)
    found = []
    for _ in range(100):
        clock.now += each
        budget.note(each)
        found.append(budget.overrun())
    assert sum(found) == pytest.approx(expected)
    assert not any(found[: SEEN - 1])
    assert not any(found[SEEN:])
