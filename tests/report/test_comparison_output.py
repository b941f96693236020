"""What people, pull requests and CI systems are given, held against golden files.

After an intended change: `OPBENCH_UPDATE_GOLDEN=1 pytest tests/report/test_comparison_output.py`,
then read the difference.
"""

from __future__ import annotations

import io
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.analyse.compare import Comparison, ComparisonRow, Mean
from opbench.analyse.gate import Gate
from opbench.report.comparison.junit import as_junit
from opbench.report.comparison.tables import as_markdown, as_text, change_text, ratio_text, show
from opbench.report.page import summary
from opbench.result import Result

GOLDEN = Path(__file__).parent / "golden"

NASTY = "ops/<script>|`x`[b]*_[n=1]/forward"


def row(
    case_id: str, base: float | None, new: float | None, *, unit: str = "s", **more
) -> ComparisonRow:
    def result(value: float | None) -> Result:
        return Result("h", "m", unit, estimate=value)

    metric = {"s": "time", "bytes": "memory"}.get(unit, unit)
    return ComparisonRow(case_id, metric, unit, result(base), result(new), **more)


def judged(verdict: str, value: float, reach: float, shown: float | None = None, **more) -> dict:
    low, high = value * (1 - reach), value * (1 + reach)
    return {
        "verdict": verdict, "value": value, "low": low, "high": high, "spread": shown, **more
    }  # fmt: skip


COMPARISON = Comparison(
    "main",
    "fast_add",
    (
        row("ops/add[n=64]/forward", 1.2e-6, 1.26e-6, **judged("slower", 1.05, 0.006, 0.009)),
        row("ops/add[n=512]/forward", 4.1e-5, 3.2e-5, **judged("faster", 0.78, 0.01, 0.015)),
        row("ops/matmul[n=512]/forward", 2e-3, 2.004e-3, **judged("same", 1.002, 0.008, 0.012)),
        row(
            NASTY,
            1e-5,
            1.02e-5,
            **judged("unknown", 1.02, 0.05, 0.08, reason="reaches beyond ±3% | <b>"),
        ),
        row("ops/gone/forward", 1e-5, None, reason="the new side crashed SIGSEGV"),
        row("ops/gone/backward", 1e-5, None, reason="the new side crashed SIGSEGV"),
        row("ops/add[n=64]/forward", 4096, 8192, unit="bytes", **judged("slower", 2.0, 0.0)),
        row("ops/view/forward", 0, 4096, unit="bytes", verdict="slower", reason="one side is zero"),
        row(
            "ops/add[n=64]/forward", 100_000, 99_000, unit="instructions",
            **judged("faster", 0.99, 0.001, 0.001, edited=True),
        ),
    ),
    (Mean("time", 0.9472, 0.93, 0.965, 4), Mean("memory", 2.0, 2.0, 2.0, 1)),
    only_base=("ops/old/forward",),
    only_new=("ops/new/forward", "ops/add[n=64]/forward (count)"),
)  # fmt: skip


def held(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("OPBENCH_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 120])
def test_the_whole_terminal_output(width):
    text = as_text(COMPARISON, width)
    held(f"comparison-{width}.txt", text)
    assert max(map(len, text.split("geometric")[0].splitlines())) <= width
    assert "\x1b" not in text


def test_the_whole_markdown():
    held("comparison.md", as_markdown(COMPARISON))


def test_the_whole_junit():
    held("comparison.xml", as_junit([COMPARISON], Gate.parse(["slower:3%"])))


# -- the terminal ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reach", "ratio", "change"),
    [
        (1.0, 0.0, "1", "0 %"),
        (2.0, 0.0, "2", "+100 %"),
        (1.05, 0.01, "1.050 [1.040, 1.060]", "+5.0 %"),
        (0.95, 0.01, "0.950 [0.941, 0.959]", "−5.0 %"),
        # No digits that its interval says nothing of.
        (29.06, 0.5, "29.1 [14.5, 43.6]", "+2806 %"),
        (0.00123, 0.1, "0.00123 [0.00111, 0.00135]", "−100 %"),
        (1234.0, 0.1, "1.23e+03 [1.11e+03, 1.36e+03]", "+123300 %"),
    ],
)
def test_ratios_read_well_at_any_size(value, reach, ratio, change):
    made = row("a", 1.0, value, **judged("unknown", value, reach))
    assert (ratio_text(made), change_text(made)) == (ratio, change)


def test_an_empty_comparison_says_so():
    nothing = Comparison("a", "b", ())
    assert "nothing to compare" in as_text(nothing)
    assert "nothing to compare" in as_markdown(nothing)


def test_the_mean_of_what_repeats_exactly_has_no_interval():
    rows = tuple(
        row(f"m/c{n}/forward", 4096, 8192, unit="bytes", **judged("slower", 2.0, 0.0))
        for n in range(2)
    )
    compared = Comparison("a", "b", rows, (Mean("memory", 2.0, 2.0, 2.0, 2),))
    assert "geometric mean of memory over 2 cases: 2.0000\n" in as_text(compared)
    assert summary._verdicts(compared, {}).means == ["memory: +100 % over 2 cases"]


def test_many_reasons_are_counted_not_listed():
    rows = tuple(row(f"ops/c{i}/forward", 1e-5, None, reason=f"reason {i}") for i in range(20))
    text = as_text(Comparison("a", "b", rows))
    assert text.count("unknown: ops") == 8
    assert "unknown: 12 more, for reasons like these" in text


# -- Markdown ----------------------------------------------------------------------------------


def cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip())[1:-1]


def test_names_stay_text_and_every_row_has_its_cells():
    text = as_markdown(COMPARISON)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(cells(line)) for line in tables} == {7}
    outside_code = re.sub(r"`[^`]*`", "", text)
    unescaped = re.sub(r"\\.", "", outside_code).replace("<details>", "").replace("</details>", "")
    assert "<" not in re.sub(r"</?summary>", "", unescaped)


def test_what_changed_stands_on_top_and_the_rest_is_folded():
    text = as_markdown(COMPARISON)
    above, below = text.split("<details>")
    assert above.count("▲") + above.count("▼") == 5
    assert "?" not in above
    assert below.count("crashed SIGSEGV") == 1  # one remark for two rows


def test_nothing_changed_is_said():
    unchanged = Comparison("a", "b", COMPARISON.rows[2:3])
    assert "No change detected." in as_markdown(unchanged)
    assert "<details>" not in as_markdown(unchanged)
    undecided = [replace(COMPARISON.rows[2], verdict="unknown"), COMPARISON.rows[2]]
    text = as_markdown(Comparison("a", "b", undecided))
    assert "No change detected; 1 of 2 could not be decided." in text


any_text = st.text(max_size=20)


@given(any_text, any_text, any_text)
def test_any_name_leaves_table_and_heading_in_one_piece(case_id, name, reason):
    made = row(case_id, 1e-5, 2e-5, **judged("unknown", 2.0, 0.1, reason=reason))
    lines = as_markdown(Comparison(name, name, (made,))).split("\n")
    assert lines[0].startswith("### ")
    table = [line for line in lines if line.startswith("|")]
    assert [len(cells(line)) for line in table] == [7, 7, 7]
    as_text(Comparison(name, name, (made,)), width=80)


# -- JUnit -------------------------------------------------------------------------------------

#: Elements and attributes of the schema that CI systems agree on.
SCHEMA = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"message"},
    "skipped": {"message"},
    "error": {"message"},
}


def test_junit_parses_back_with_the_elements_ci_systems_know():
    gate = Gate.parse(["slower:3%"])
    root = ElementTree.fromstring(as_junit([COMPARISON, COMPARISON], gate).encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == SCHEMA[element.tag]
    assert len(root) == 2
    for suite in root:
        assert suite.attrib["name"] == "opbench main → fast_add"
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == 9
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == 3
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) == 1
        # Measured in the base, and not any more.
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == 2
    assert root.findall("testsuite/testcase")[3].attrib["name"] == NASTY
    messages = [failure.attrib["message"] for failure in root[0].iter("failure")]
    assert messages == [
        "slower: 1.050 [1.044, 1.056]",
        "larger: 2",
        "larger: one side is zero",
    ]


def test_an_unknown_that_fails_the_gate_is_not_skipped_as_well():
    root = ElementTree.fromstring(as_junit([COMPARISON], Gate.parse(["unknown"])))
    (suite,) = root
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("3", "0")
    assert not list(suite.iter("skipped"))


@given(any_text, any_text, any_text)
def test_any_text_makes_well_formed_xml(case_id, name, reason):
    made = row(case_id, 1e-5, 2e-5, reason=reason)
    root = ElementTree.fromstring(
        as_junit([Comparison(name, name, (made,))], Gate.parse([])).encode("utf-8")
    )
    shown = root.find("testsuite/testcase")
    assert shown is not None
    assert len(shown.attrib["name"]) == len(case_id)


def test_a_pipe_gets_the_same_width_from_compare_as_from_run(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "60")
    show(COMPARISON)
    assert max(map(len, stream.getvalue().splitlines())) > 80
    assert "matmul[n=512]/forward " in stream.getvalue()
