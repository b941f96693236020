"""What stands below the table of a quick question."""

from __future__ import annotations

import pytest

from opbench.cli.quick import remarks
from opbench.result import Result


def result(estimate: float = 1e-6, *, unit: str = "s", busy: bool = False) -> Result:
    found = Result("hash", "time", unit, estimate=estimate)
    return found.with_warning("contended", "close other programs") if busy else found


@pytest.mark.parametrize(
    ("results", "begins"),
    [
        ([result()], []),
        ([result(-1e-9), result(-2e-9)], ["A time of zero or less: "]),
        ([result(0.0)], ["A time of zero or less: "]),
        ([result(-1.0, unit="bytes")], []),
        (
            [result(busy=True), result()],
            ["1 of 2 results were disturbed by other programs: close other programs"],
        ),
        ([Result("hash", "time", "s", "failed", "it raised")], []),
    ],
)
def test_each_remark_is_made_once(results, begins):
    found = remarks(results)
    assert len(found) == len(begins)
    assert all(line.startswith(start) for line, start in zip(found, begins))
