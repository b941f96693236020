"""When a case counts as warm, on made-up sequences: no clock is involved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opbench.worker.warmup import LARGEST_BLOCK, MIN_CALLS, WarmUp

BLOCK = 0.002


def fed(plan: WarmUp, per_call: Callable[[int], float], most: int = 10_000) -> WarmUp:
    """Feed blocks whose calls cost `per_call(calls made before)` seconds each."""
    for _ in range(most):
        if plan.done:
            return plan
        plan.add(plan.n, plan.n * per_call(plan.calls))
    raise AssertionError("never done")


def test_a_steady_call_settles_with_blocks_of_the_asked_length():
    plan = fed(WarmUp(0.1, BLOCK), lambda _calls: 1e-6)
    assert plan.settled
    # 2 ms of 1 µs calls; 1024 is the first power of two that lasts half a block.
    assert plan.block_size == pytest.approx(2000, abs=1)
    assert plan.n == 1024
    # 1 + 2 + … + 512 while it grows, then two times three blocks to see that it no longer falls.
    assert plan.calls <= 1023 + 6 * 1024


def test_the_first_call_is_never_taken_for_the_typical_one():
    plan = fed(WarmUp(1.0, BLOCK), lambda calls: 0.5 if calls == 0 else 0.01)
    assert plan.first == 0.5
    assert plan.per_call == pytest.approx(0.01)
    assert plan.block_size == 1


def test_a_call_longer_than_the_whole_warm_up_is_still_made_twice():
    plan = fed(WarmUp(0.1, BLOCK), lambda calls: 30.0 if calls == 0 else 1.0)
    assert plan.calls == 2
    assert plan.per_call == 1.0
    assert not plan.settled


def test_a_slow_call_that_is_known_is_made_once():
    plan = fed(WarmUp(0.0, BLOCK), lambda _calls: 0.1)
    assert plan.calls == 1
    assert plan.block_size == 1


def test_a_compiler_does_not_spend_the_time_of_warming_up():
    """As JAX does: the first call compiles, the next four fault in the pages of their results."""

    def cost(calls: int) -> float:
        return 0.3 if calls == 0 else 2e-3 if calls < 5 else 4e-4

    plan = fed(WarmUp(0.1, BLOCK), cost)
    assert plan.settled
    assert plan.calls >= MIN_CALLS
    assert plan.per_call == pytest.approx(4e-4)
    assert plan.block_size == 5


def test_it_goes_on_while_the_time_per_call_falls():
    plan = fed(WarmUp(10.0, BLOCK), lambda calls: 1e-5 * (1 + 9 * 0.995**calls))
    assert plan.settled
    # Ten times the floor at first; sampled from then on it would read a few per cent too much.
    assert plan.per_call == pytest.approx(1e-5, rel=0.1)


def test_a_call_that_never_settles_is_ended_by_the_time_limit():
    plan = fed(WarmUp(0.1, BLOCK), lambda calls: 1e-3 * 0.99**calls + 1e-6, most=100_000)
    assert plan.spent >= 0.1 or plan.settled


def test_a_burst_of_noise_does_not_look_like_settling_nor_unsettle():
    def cost(calls: int) -> float:
        return 5e-5 if 2000 <= calls < 3000 else 1e-5

    plan = fed(WarmUp(10.0, BLOCK), cost)
    assert plan.per_call == pytest.approx(1e-5)


def test_an_empty_statement_does_not_double_its_block_for_ever():
    plan = WarmUp(0.1, BLOCK)
    for _ in range(100):
        if plan.done:
            break
        plan.add(plan.n, 0.0)
    assert plan.n <= LARGEST_BLOCK
    assert plan.done
    assert plan.block_size == plan.n


def test_an_interpreter_that_specialises_gets_its_calls():
    plan = fed(WarmUp(10.0, BLOCK), lambda _calls: BLOCK * 0.9)
    assert plan.calls >= MIN_CALLS
