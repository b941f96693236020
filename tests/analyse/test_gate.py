"""Which rows make CI fail, and which gates are refused because they never would."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.analyse.gate import Gate, gate_lines
from opbench.errors import UserError
from opbench.result import Result


def row(verdict: str, value: float | None = None, unit: str = "s") -> ComparisonRow:
    metric = {"s": "time", "bytes": "memory"}.get(unit, unit)
    return ComparisonRow("ops/add/forward", metric, unit, None, None, value=value, verdict=verdict)


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
        # A word that belongs to one kind of metric means that one; `slower` is worse in any.
        (["larger"], [row("slower", 2.0), row("slower", 2.0, "bytes")], [1]),
        (["larger:60%"], [row("slower", 1.5, "bytes"), row("slower", 1.7, "bytes")], [1]),
        (["more"], [row("slower", 1.1, "instructions"), row("slower", 1.1, "count")], [0, 1]),
        (["fewer"], [row("faster", 0.9, "count"), row("faster", 0.9, "bytes")], [0]),
        (["slower"], [row("slower", 2.0, "bytes"), row("slower", 1.1, "instructions")], [0, 1]),
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


def measured(metric: str, base: str, new: str, reason: str = "") -> ComparisonRow:
    """Of sides with these outcomes."""
    sides = [Result("h", metric, "s", outcome=outcome) for outcome in (base, new)]
    both = base == new == "ok"
    more = {"value": 1.0, "verdict": "same"} if both else {"reason": reason}
    return ComparisonRow(f"{metric} {base} {new}", metric, "s", *sides, **more)


@pytest.mark.parametrize(
    ("rows", "unmeasured"),
    [
        # Nothing of a metric at all, whoever is to blame: that is no pass.
        ([measured("instructions", "unsupported", "unsupported")], [0]),
        ([measured("instructions", "failed", "ok")], [0]),
        # What the base has and the new side has lost.
        ([measured("time", "ok", "ok"), measured("time", "ok", "unsupported")], [1]),
        ([measured("time", "ok", "ok"), measured("time", "ok", "crashed")], [1]),
        # What the base never had, among others that were measured.
        ([measured("time", "ok", "ok"), measured("time", "unsupported", "unsupported")], []),
        ([measured("time", "ok", "ok"), measured("time", "unsupported", "ok")], []),
        # One metric does not speak for another.
        ([measured("time", "ok", "ok"), measured("memory", "unsupported", "unsupported")], [1]),
        ([measured("time", "ok", "ok")], []),
    ],
)
def test_a_gate_does_not_pass_on_what_was_not_measured(rows, unmeasured):
    comparison = Comparison("a", "b", tuple(rows))
    gate = Gate.parse(["slower:1%"])
    assert [rows.index(each) for each in gate.unmeasured(comparison)] == unmeasured
    # That something failed is said before that something is missing.
    broken = any(side.failed for each in unmeasured for side in (rows[each].base, rows[each].new))
    assert gate.exit_code([comparison]) == (1 if broken else 3 if unmeasured else 0)
    assert Gate.parse([]).exit_code([comparison]) == 0, "without a gate nothing is judged"


def test_a_case_counts_once_however_many_metrics_it_has():
    gate = Gate.parse(["slower"])
    metrics = [row("slower", 2.0, unit) for unit in ("s", "bytes", "count")]
    other = replace(metrics[0], case_id="ops/mul/forward")

    def said(*rows: ComparisonRow) -> list[str]:
        return gate_lines([Comparison("a", "b", rows)], gate)

    assert said(metrics[0]) == ["gate: 1 case failed"]
    assert said(*metrics) == ["gate: 1 case failed (3 results)"]
    assert said(*metrics, other) == ["gate: 2 cases failed (4 results)"]
    lost = [replace(measured(name, "ok", "failed"), case_id="x") for name in ("time", "memory")]
    assert said(*lost)[0].startswith("gate: 1 case not measured (2 results), so nothing")


def test_a_gate_that_could_not_judge_a_change_says_so_when_it_passes():
    gate = Gate.parse(["slower:5%"])
    disturbed = replace(row("unknown", 3.12), reason="34% of the new blocks were disturbed")

    def said(*rows: ComparisonRow) -> list[str]:
        return gate_lines([Comparison("a", "b", rows)], gate)

    (line,) = said(disturbed)
    assert line.startswith("gate: passed, but 1 case could not be judged; e.g. time of ops/add/")
    assert "3.12 times the base: 34% of the new blocks were disturbed; measure again" in line
    assert "--fail-on unknown" in line
    assert gate.exit_code([Comparison("a", "b", (disturbed,))]) == 0
    # Not what is too small for the gate, or in the other direction, or no news beside a failure.
    assert said(replace(disturbed, value=1.04)) == said(replace(disturbed, value=0.5)) == []
    assert said(disturbed, row("slower", 2.0)) == ["gate: 1 case failed"]
    known = Gate.parse(["slower:5%", "unknown"])
    assert gate_lines([Comparison("a", "b", (disturbed,))], known) == ["gate: 1 case failed"]


def test_a_verdict_fails_before_what_is_missing_does():
    rows = (row("slower", 2.0), measured("time", "ok", "unsupported"))
    assert Gate.parse(["slower"]).exit_code([Comparison("a", "b", rows)]) == 1
    assert Gate.parse(["unknown"]).exit_code([Comparison("a", "b", rows[1:])]) == 1
