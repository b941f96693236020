"""What a step takes when nobody records it, and its phases."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from opbench.capture.operators.unrecorded import Unrecorded, middle

SECONDS = st.lists(st.floats(1e-4, 10), min_size=1, max_size=50)


class Phases:
    """What was seen of a step: seconds by phase."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = defaultdict(float, seconds)

    def idle(self, phase: str) -> float:
        return self.seconds[phase] / 10


@given(SECONDS)
def test_the_middle_lies_around_the_median(seconds):
    chosen = [seconds[number] for number in middle(seconds)]
    assert min(chosen) <= median(seconds) <= max(chosen)
    # As many are left out on either side, so that slow ones do not matter.
    assert sum(s < min(chosen) for s in seconds) <= len(seconds) // 3
    assert len(chosen) == len(seconds) - 2 * (len(seconds) // 3)


@given(st.lists(st.tuples(st.floats(1e-4, 1), st.floats(1e-4, 1)), min_size=1, max_size=50))
def test_the_phases_add_up_to_the_step(steps):
    units = Unrecorded()
    for forward, backward in steps:
        units.unit_ended(forward + backward, Phases(forward=forward, backward=backward))
    facts = units.facts(None)
    total = sum(facts["phase_seconds"].values())
    assert abs(total - facts["step_seconds"]) <= 1e-3 * total  # four digits are written
