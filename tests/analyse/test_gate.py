"""Which rows make CI fail, and which gates are refused because they never would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.analyse.compare import ComparisonRow
from opbench.analyse.gate import Gate
from opbench.errors import UserError


def row(verdict: str, value: float | None = None) -> ComparisonRow:
    return ComparisonRow("ops/add/forward", "time", "s", None, None, value=value, verdict=verdict)


@pytest.mark.parametrize(
    ("gate", "rows", "failing"),
    [
        ([], [row("slower", 9.0), row("unknown")], []),
        (["slower"], [row("slower", 1.001), row("faster", 0.5), row("unknown", 2.0)], [0]),
        (["slower:3%"], [row("slower", 1.02), row("slower", 1.04), row("same", 1.04)], [1]),
        (["slower:0.03"], [row("slower", 1.02), row("slower", 1.04)], [1]),
        (["slower:150%"], [row("slower", 2.4), row("slower", 2.6)], [1]),
        (["faster:3%"], [row("faster", 0.98), row("faster", 0.96)], [1]),
        (["slower:3%", "unknown"], [row("slower", 1.01), row("unknown"), row("same", 1.0)], [1]),
        # From no bytes at all to some: no ratio, and no small change.
        (["slower:3%"], [row("slower", None)], [0]),
    ],
)
def test_a_row_fails_by_its_verdict_and_size(gate, rows, failing):
    parsed = Gate.parse(gate)
    assert [index for index, each in enumerate(rows) if parsed.fails(each)] == failing


@pytest.mark.parametrize("text", ["slowr", "", "SLOWER", "slower 3%", "3%"])
def test_only_verdicts_are_gates(text):
    with pytest.raises(UserError, match=r"--fail-on: unknown verdict"):
        Gate.parse([text])


def test_the_nearest_verdict_is_offered():
    with pytest.raises(UserError, match="did you mean slower"):
        Gate.parse(["slowr:3%"])


@pytest.mark.parametrize("share", ["3", "x", "-3%", "nan", "nan%", "inf%", "%", "3%%", "3 % %"])
def test_a_share_that_would_never_fail_is_refused(share):
    with pytest.raises(UserError, match="expected a percentage such as slower:3%"):
        Gate.parse([f"slower:{share}"])


@given(st.text(max_size=20))
def test_any_text_is_a_gate_or_refused_in_one_line(text):
    said = "--fail-on: "
    try:
        Gate.parse([text])
    except UserError as error:
        said = str(error)
    assert said.startswith("--fail-on: ")
