"""What stands below the table of a quick question."""

from __future__ import annotations

import pytest

from opbench.cli.quick import remarks
from opbench.result import Result


def result(*warnings: tuple[str, str]) -> Result:
    found = Result("hash", "time", "s", estimate=1e-6)
    for code, text in warnings:
        found = found.with_warning(code, text)
    return found


ZERO, BUSY = ("zero-time", "its time is zero"), ("contended", "close other programs")


@pytest.mark.parametrize(
    ("results", "begins"),
    [
        ([result()], []),
        ([result(ZERO), result(ZERO)], ["Its time is zero."]),
        ([result(), result(("gpu-not-awaited", "it uses a GPU"))], ["It uses a GPU."]),
        (
            [result(BUSY), result()],
            ["1 of 2 results were disturbed by other programs: close other programs"],
        ),
        ([Result("hash", "time", "s", "failed", "it raised")], []),
    ],
)
def test_each_remark_is_made_once(results, begins):
    found = remarks(results)
    assert len(found) == len(begins)
    assert all(line.startswith(start) for line, start in zip(found, begins))
