"""What `opbench show` prints below a warning that says to look at the starts there."""

from __future__ import annotations

from opbench.report.starts import lines
from opbench.result import Result, Sample


def sampled(*starts: list[float]) -> Result:
    """In µs, a list for each start; what is disturbed is not part of them."""
    blocks = [(start, value) for start, values in enumerate(starts) for value in values]
    samples = [Sample(value * 1e-6, start=start) for start, value in blocks]
    disturbed = Sample(9e-6, start=0, contended=True)
    return Result("h", "time", "s", low=0.99e-6, high=1.01e-6, samples=(disturbed, *samples))


GROUPS = sampled([1.0, 1.0, 1.0], [1.3, 1.3], [1.01], [1.0, 1.0], [1.02], [1.31])


def test_starts_stand_in_their_groups_with_their_blocks():
    assert lines("two-groups", GROUPS) == [
        "faster starts: 1: 1.00 µs (3 blocks), 3: 1.01 µs (1 block), 4: 1.00 µs (2 blocks), "
        "5: 1.02 µs (1 block)",
        "slower starts: 2: 1.30 µs (2 blocks), 6: 1.31 µs (1 block)",
    ]


def test_blocks_stand_at_their_speeds():
    faster = sampled([1.0] * 7 + [0.5] * 3, [1.0] * 6 + [0.5] * 4)
    assert lines("two-speeds", faster) == [
        "blocks at each speed: start 1: 500 ns (3), 1.00 µs (7); start 2: 500 ns (4), 1.00 µs (6)"
    ]
    slower = sampled([1.0] * 7 + [2.0] * 3, [1.0] * 7 + [2.0] * 3)
    assert "start 1: 1.00 µs (7), 2.00 µs (3)" in lines("two-speeds", slower)[0]


def test_below_other_warnings_stands_nothing():
    assert lines("imprecise", GROUPS) == []
    even = sampled(*([1.0, 1.0] for _ in range(6)))
    assert lines("two-groups", even) == lines("two-speeds", even) == []
