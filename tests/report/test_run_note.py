"""What is true of the whole run is said once; a mark on a case means that this case differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.case import Case
from opbench.report.notebook import results_html
from opbench.report.terminal.run import as_text
from opbench.report.warnings.run_note import run_note
from opbench.result import Result, Warning
from opbench.running.recording import Finished


def result(number: int, *codes: str, width: float = 0.05, **detail) -> tuple[Case, Result]:
    case = Case("tour", f"case{number}", "forward", "pass")
    warnings = tuple(Warning(code, f"text of {code}; what to do") for code in codes)
    return case, Result(
        case.hash, "time", "s", estimate=1.0, low=1 - width, high=1 + width, warnings=warnings,
        detail={"between": 0.034, **detail},
    )  # fmt: skip


def note(pairs):
    return run_note([result for _, result in pairs])


#: As a shared machine leaves it: everything is disturbed and wide, one case is much wider, and
#: one is odd in its own way.
SHARED = [
    *(result(n, "contended", "imprecise", drift=0.02) for n in range(20)),
    result(20, "contended", "imprecise", width=0.4, drift=0.02),
    result(21, "contended", "two-groups", drift=0.02),
    result(22, drift=0.02),
]


def test_what_most_cases_have_is_one_line_about_the_run():
    found = note(SHARED)
    assert found.facts == (
        "22 of 23 cases were disturbed by other programs; "
        "21 of 23 cases have wider intervals than asked; "
        "a typical interval is ±5.0 %, as worker starts of the same code differ by 3.4 % and the "
        "machine's speed drifted by 2.0 %"
    )
    assert "opbench doctor" in found.advice
    assert "side by side" in found.advice


def test_a_mark_stays_where_a_case_differs_from_the_others():
    found = note(SHARED)
    marks = {
        case.name: [w.code for w in found.own(each).warnings]
        for case, each in SHARED
        if found.own(each).warnings
    }
    assert marks == {"case20": ["imprecise"], "case21": ["two-groups"]}


def test_the_table_of_a_shared_machine_ends_with_one_line_about_it():
    text = as_text(Finished("r", SHARED), width=100)
    head, tail = text.split("case22", 1)
    assert head.count("contended") == 0
    about = [line for line in tail.splitlines() if "disturbed by other programs" in line]
    assert len(about) == 1
    assert "imprecise: 1 case, e.g. tour/case20/forward" in text
    assert "two-groups: 1 case, e.g. tour/case21/forward" in text
    html = results_html("t", SHARED)
    assert html.count("disturbed by other programs") == 1
    assert "contended" not in html


def test_a_warning_that_few_have_stays_with_them():
    few = [*(result(n) for n in range(9)), result(9, "contended")]
    found = note(few)
    assert found.line == ""
    assert found.own(few[9][1]) is few[9][1]


def test_of_very_few_cases_each_speaks_for_itself():
    pairs = [result(n, "imprecise") for n in range(3)]
    assert note(pairs).line == ""
    assert note(pairs).own(pairs[0][1]).warnings != ()


def test_a_quiet_run_has_nothing_to_say():
    assert note([result(n, drift=0.001) for n in range(8)]).line == ""
    assert note([]).line == ""


def test_few_starts_everywhere_are_a_matter_of_time():
    found = note([result(n, "few-starts") for n in range(6)])
    assert found.facts == "6 of 6 cases rest on fewer than three worker starts"
    # Which option limits them depends on the policy, which the warning of a case knows.
    assert found.advice == "what to do"


def test_what_an_interval_assumes_of_a_single_start_is_not_reported_as_seen():
    found = note([result(n, "imprecise", starts=1) for n in range(6)])
    assert found.facts == (
        "6 of 6 cases have wider intervals than asked; a typical interval is ±5.0 %"
    )


def test_a_case_in_two_environments_has_two_rows():
    pairs = [result(n, "contended") for n in range(4)]
    also = [(case, replace(each, environment="HEAD~1")) for case, each in pairs]
    assert note([*pairs, *also]).facts == "8 of 8 rows were disturbed by other programs"


def test_a_case_of_two_metrics_is_one_case():
    pairs = [result(n, "contended") for n in range(4)]
    also = [(case, replace(each, metric="device_time")) for case, each in pairs]
    assert note([*pairs, *also]).facts == "4 of 4 cases were disturbed by other programs"


@pytest.mark.parametrize("drift", [0.02, 0.001])
def test_drift_of_runs_stored_before_is_no_mark_of_a_case_either(drift):
    pairs = [result(0, "drift", drift=drift), result(1, drift=drift)]
    found = note(pairs)
    assert found.own(pairs[0][1]).warnings == ()
    assert ("speed drifted" in found.line) == (drift == 0.02)


def test_what_failed_or_is_counted_does_not_take_part():
    case = Case("s", "bytes", "call", "pass")
    counted = [(case, Result(case.hash, "memory", "bytes", estimate=1.0)) for _ in range(20)]
    assert note([*counted, *(result(n, "contended") for n in range(4))]).facts.startswith("4 of 4")


def test_a_time_without_an_interval_makes_the_typical_one_no_narrower():
    wide = [result(n, "imprecise", width=0.05) for n in range(5)]
    parts = [(case, replace(each, metric="parts", low=1.0, high=1.0)) for case, each in wide]
    assert "a typical interval is ±5.0 %" in note([*wide, *parts]).facts


def test_a_precise_metric_does_not_speak_for_a_wide_one():
    wide = [result(n, "imprecise", width=0.2, between=0.1) for n in range(5)]
    precise = [result(n, width=0.003, between=0.0015) for n in range(5)]
    both = [*wide, *((case, replace(each, metric="device_time")) for case, each in precise)]
    assert note(both).facts == (
        "5 of 5 cases have wider intervals than asked; "
        "a typical interval is ±20 %, as worker starts of the same code differ by 10 %"
    )


def test_starts_that_agree_are_not_why_intervals_are_wide():
    found = note([result(n, "imprecise", between=0.007, within=0.03) for n in range(5)])
    assert found.facts.endswith("a typical interval is ±5.0 %")


def test_starts_in_two_groups_in_most_cases_are_said_once():
    found = [*(result(n, "two-groups") for n in range(12)), *(result(n) for n in range(12, 20))]
    assert "12 of 20 cases have worker starts in two groups" in note(found).line
    assert note(found).own(found[0][1]).warnings == ()
    few = [*(result(n, "two-groups") for n in range(4)), *(result(n) for n in range(4, 20))]
    assert note(few).line == ""


def test_a_drift_that_widens_every_row_is_said_once():
    drifted = [result(n, width=0.17, drift=0.07) for n in range(10)]
    assert "a typical interval is ±17 %" in note(drifted).line
    assert "the machine's speed drifted by 7.0 %" in note(drifted).line
    assert note([result(n, width=0.02, drift=0.01) for n in range(10)]).line == ""
    assert note([result(n, width=0.17, drift=0.001) for n in range(10)]).line == ""
    assert note([]).line == ""


def test_rows_that_a_drift_made_wide_are_not_marked_for_having_been_wide_before():
    some = [result(n, *(["imprecise"] if n < 3 else []), width=0.17, drift=0.07) for n in range(10)]
    wider = result(10, "imprecise", width=0.6, drift=0.07)
    found = note([*some, wider])
    assert all(not found.own(each).warnings for _, each in some)
    assert found.own(wider[1]).warnings


def test_a_drift_seen_twice_widens_by_more_than_itself():
    """Two visits of the control leave one degree of freedom: 19 % are then ±247 %."""
    drifted = [result(n, width=2.47, drift=0.19) for n in range(10)]
    assert "speed drifted" not in note(drifted).line
    barely = [result(n, width=2.47, drift=0.19, drift_freedom=1.0) for n in range(10)]
    assert "the machine's speed drifted by 19 %" in note(barely).line
