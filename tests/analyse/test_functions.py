"""Where instructions go, and which function a change is to be blamed on."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.analyse.functions import (
    FunctionView,
    NoFunctions,
    by_function,
    changes_in,
    difference,
    stats_of,
)
from opbench.case import Case
from opbench.counting import Function, Profile
from opbench.report.comparison.tables import as_markdown
from opbench.report.functions import breakdown, changes
from opbench.result import Result

LOOP = Function("_PyEval_EvalFrameDefault", "libpython3.11.so")
ADD, MUL = Function("at::add", "libtorch_cpu.so"), Function("at::mul", "libtorch_cpu.so")
MALLOC = Function("malloc", "libc.so")


def result(own: dict[Function, int], calls: int = 100) -> Result:
    detail = {"functions": Profile(own).pack(), "calls": calls}
    return Result("hash", "instructions", "instructions", detail=detail)


BEFORE = result({LOOP: 1000, ADD: 5000, MALLOC: 300})
AFTER = result({LOOP: 1200, ADD: 5000, MUL: 4000, MALLOC: 250})


def test_counts_by_function_are_per_call_and_largest_first():
    counted = [(str(ADD), 50.0), (str(LOOP), 10.0)]
    assert by_function(stats_of(BEFORE)) == counted
    assert by_function(stats_of(BEFORE), FunctionView(raw=True)) == [*counted, (str(MALLOC), 3)]


def test_match_and_group():
    stats = stats_of(AFTER)
    assert by_function(stats, FunctionView("torch")) == [(str(ADD), 50.0), (str(MUL), 40.0)]
    assert by_function(stats, FunctionView(group=r"\[(lib\w+)", raw=True)) == [
        ("libtorch_cpu", 90.0), ("libpython3", 12.0), ("libc", 2.5),
    ]  # fmt: skip
    assert by_function(stats, FunctionView(group="at::")) == [("at::", 90.0), ("other", 12.0)]


def test_the_difference_blames_what_changed_most():
    rows = difference(BEFORE, AFTER, FunctionView(raw=True))
    assert [(row.function, row.change) for row in rows] == [
        (str(MUL), 40.0), (str(LOOP), 2.0), (str(MALLOC), -0.5),
    ]  # fmt: skip


def test_the_functions_add_up_to_the_difference_they_explain():
    """A count leaves out allocators and hash tables, and so does its table of functions."""
    noisy = result({LOOP: 1000, ADD: 5000, MALLOC: 999})
    assert difference(BEFORE, noisy) == []
    rows = difference(BEFORE, AFTER)
    assert sum(row.change for row in rows) == pytest.approx(42.0)
    assert [(row.function, row.change) for row in rows] == [(str(MUL), 40.0), (str(LOOP), 2.0)]


def test_the_functions_of_a_comparison():
    def row(case_id: str, before: Result, after: Result) -> ComparisonRow:
        return ComparisonRow(case_id, before.metric, "instructions", before, after)

    rows = (row("same", BEFORE, BEFORE), row("small", BEFORE, result({LOOP: 1001, ADD: 5000})),
            row("large", BEFORE, AFTER))  # fmt: skip
    found = changes_in(Comparison("a", "b", rows))
    assert [each.case_id for each in found] == ["large", "small"]
    time = Result("hash", "time", "s")
    with pytest.raises(NoFunctions, match="run both with --metric instructions"):
        changes_in(Comparison("a", "b", (row("x", time, time),)))


def test_a_comment_on_a_pull_request_names_the_functions():
    row = ComparisonRow("t/case|x", "instructions", "instructions", BEFORE, AFTER, value=1.6)
    text = as_markdown(Comparison("a", "b", (replace(row, verdict="slower"),)))
    assert "<summary>functions that changed t/case\\|x</summary>" in text
    assert "`at::mul [libtorch_cpu.so]`" in text
    assert "malloc" not in text
    assert "functions" not in as_markdown(Comparison("a", "b", (replace(row, verdict="same"),)))


def test_different_numbers_of_calls_are_compared_per_call():
    few, many = result({ADD: 500}, calls=10), result({ADD: 5000}, calls=100)
    assert difference(few, many) == []
    assert stats_of(few).delta(stats_of(many)).sum() == 0
    more = stats_of(result({ADD: 600}, calls=10))  # counted less often because it is longer
    assert more.delta(stats_of(many)).sum() == 100
    assert stats_of(many).delta(more).sum() == -1000


def test_stats_are_used_like_torchs():
    before, after = stats_of(BEFORE).as_standardized(), stats_of(AFTER)
    delta = after.delta(before)
    assert delta[0].function == str(MUL)
    assert delta.sum() == after.counts() - before.counts() == 4150
    assert after.counts(denoise=True) == 10200
    assert delta.denoise().sum() == 4200
    assert len(delta[:1]) == 1
    assert "at::mul" in repr(delta)
    renamed = after.stats().transform(lambda name: name.split("::")[0])
    assert renamed[0].count == 9000
    assert after.stats().filter(lambda name: "at::" in name).sum() == 9000
    assert (after.stats() - after.stats()).sum() == 0
    assert [name for _count, name in delta[:1]] == [str(MUL)]
    assert (after.stats() * 2).sum() == 2 * after.counts() == (2 * after.stats()).sum()
    assert (after.stats() + after.stats() * -1).sum() == 0
    with pytest.raises(ValueError, match="on Arm Callgrind cannot tell"):
        after.stats(inclusive=True)


def test_what_was_counted_is_known():
    stats = stats_of(AFTER, Case("s", "n", "call", "y = f(x)", "x = 1"))
    assert (stats.task_spec.stmt, stats.task_spec.setup) == ("y = f(x)", "x = 1")
    assert "fn=at::mul" in stats.stmt_callgrind_out
    assert "s/n/call" in repr(stats)
    with pytest.raises(ValueError, match="give stats_of"):
        _ = stats_of(AFTER).task_spec


def test_a_result_without_functions_says_what_to_measure():
    with pytest.raises(NoFunctions, match="--metric instructions"):
        stats_of(Result("hash", "time", "s"))


def test_what_a_person_reads():
    from rich.console import Console

    def shown(part) -> str:
        stream = io.StringIO()
        Console(file=stream, width=90, highlight=False).print(part)
        return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

    text = shown(breakdown(by_function(stats_of(BEFORE), FunctionView(raw=True)), shown=2))
    assert "50.0     79.4%   at::add [libtorch_cpu.so]" in text
    assert "… 1 more" in text
    text = shown(changes(difference(BEFORE, AFTER, FunctionView(raw=True))))
    assert "+40.0            0.0           40.0   at::mul [libtorch_cpu.so]" in text
    assert "+41.5" in text
    assert shown(changes([])) == "No function executes more or fewer instructions."
