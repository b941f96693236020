"""Reports on operators: fusion as a number, every result kept, the coverage table current."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from opbench.api.run import run as measure
from opbench.result import Result
from opbench.stats.quantiles import quantiles
from opbench.store import Store
from opbench.suites.ops import report as text
from opbench.suites.ops.coverage import updated
from opbench.suites.ops.fusion import gains
from opbench.suites.ops.results import files
from opbench.suites.ops.results.outcomes import outcome_table
from opbench.suites.ops.results.rows import OperatorRow, rows

DOCS = Path(__file__).parents[3] / "docs"

ROW = OperatorRow(
    operator="add", category="binary", framework="torch", size="typical", dtype="float32",
    stage="forward", device="cpu", threads=1, form="", scaled="", inputs="", metric="time",
    unit="s", outcome="ok", reason="", estimate=1.0, low=0.9, high=1.1,
    quantiles=quantiles([0.9, 1.0, 1.1]), flops=1e9, bytes=1e9, case_hash="0",
)  # fmt: skip


def markdown(found) -> str:
    stream = io.StringIO()
    text.to_markdown(found, stream)
    return stream.getvalue()


def fused(form, seconds, **more):
    made = replace(ROW, operator="conv_relu", category="fused", form=form)
    interval = {"estimate": seconds, "low": seconds * 0.97, "high": seconds * 1.03}
    result = Result("0", "time", "s", **interval)
    return replace(made, **interval, result=result, **more)


def test_the_gain_of_fusion_is_the_sum_of_the_parts_over_the_whole():
    (gain,) = gains([fused("fused", 2.0), fused("1.Conv2D", 2.5), fused("2.relu", 0.5), ROW])
    assert gain.value == pytest.approx(1.5)
    # Independent errors add as squares: 3 % of the whole; of the parts √(2.5² + 0.5²) / 3 · 3 %.
    spread = (0.03**2 + (0.03 * (2.5**2 + 0.5**2) ** 0.5 / 3) ** 2) ** 0.5
    assert (gain.high - gain.low) / 2 / gain.value == pytest.approx(spread)
    assert gain.how == "sequence"


def test_there_is_no_gain_without_every_part():
    assert gains([fused("fused", 2.0), fused("1.Conv2D", 2.5)]) == []
    failed = fused("2.relu", 0.5, outcome="failed")
    assert gains([fused("fused", 2.0), fused("1.Conv2D", 2.5), failed]) == []


def test_parts_of_another_framework_do_not_count():
    mixed = [fused("fused", 2.0), fused("1.Conv2D", 2.5), fused("2.relu", 0.5, framework="jax")]
    assert gains(mixed) == []


def test_nothing_overwrites_anything():
    """The same operator at other inputs, sizes, frameworks is another key."""
    found = [
        ROW,
        replace(ROW, inputs="lhs=8x8"),
        replace(ROW, size="small"),
        replace(ROW, framework="jax"),
        replace(ROW, scaled="1/2 (memory)"),
        replace(ROW, dtype="float64"),
        replace(ROW, stage="backward"),
        replace(ROW, metric="memory", unit="bytes"),
        replace(ROW, run="another"),
    ]
    assert len(files.as_dict(found)) == len(found)


def test_the_fastest_framework_is_marked_and_outcomes_are_counted():
    slower = replace(ROW, framework="jax", estimate=2.0, low=1.9, high=2.1)
    none = replace(
        ROW, framework="mxnet", outcome="unsupported", reason="no such thing", estimate=None
    )
    other = replace(ROW, operator="exp", category="unary", framework="mxnet")
    page = markdown([ROW, slower, none, other])
    assert "| unary | exp | – | – | 1.00 s ± 10 % |" in page  # nothing to be faster than
    assert "| binary | add | 1.00 s ± 10 % * | 2.00 s ± 5.0 % | – |" in page
    assert "| mxnet | 1 | 1 | 0 |" in page
    assert "- mxnet: unsupported: no such thing (add)" in page
    table = outcome_table((row.framework, row.outcome) for row in (ROW, none))
    assert [column.name for column in table.columns] == ["framework", "ok", "unsupported", "failed"]
    assert table.rows == [["torch", "1", "0", "0"], ["mxnet", "0", "1", "0"]]


def test_what_no_framework_has_is_no_line_and_is_said_once_for_each():
    none = {"outcome": "unsupported", "estimate": None}
    lacking = [
        replace(
            ROW,
            operator=name,
            framework=framework,
            reason=f"{framework} has no operator {name}",
            **none,
        )
        for name in ("add", "exp")
        for framework in ("torch", "jax")
    ]
    page = markdown([replace(ROW, operator="sum"), *lacking])
    assert "| add |" not in page
    assert "| sum |" in page
    assert "- torch: unsupported: torch has no operator (add, exp)\n" in page
    assert "- jax: unsupported: jax has no operator (add, exp)\n" in page


def test_a_framework_without_a_metric_gets_no_column_of_dashes():
    host = [replace(ROW, metric="host_time", framework=name) for name in ("torch", "jax")]
    device = replace(ROW, metric="device_time", estimate=0.5)
    silent = replace(device, framework="jax", outcome="unsupported", estimate=None)
    page = markdown([*host, device, silent])
    assert "host time\n\n| category | operator | torch | jax |" in page
    assert "device time\n\n| category | operator | torch |\n" in page


def test_size_classes_stand_side_by_side_where_there_are_several_each_metric_apart():
    sizes = [
        replace(ROW, size=size, metric=metric, estimate=seconds)
        for size, scale in (("small", 1.0), ("typical", 10.0))
        for metric, seconds in (("host_time", 2 * scale), ("device_time", scale))
    ]
    (table,) = [
        table
        for table in text.tables([*sizes, replace(ROW, operator="exp", metric="host_time")])
        if table.title == "time by size class"
    ]
    assert table.rows == [
        ["add", "torch", "forward, host time", "float32", "2.00 s", "20.0 s"],
        ["add", "torch", "forward, device time", "float32", "1.00 s", "10.0 s"],
    ]


def test_names_cannot_break_the_page():
    assert "a\\|b c" in markdown([replace(ROW, inputs="a|b\nc")])


def test_the_coverage_table_of_the_documentation_is_current():
    page = (DOCS / "operators.md").read_text(encoding="utf-8")
    assert updated(page) == page, "run: python -m opbench.suites.ops.coverage docs/operators.md"


def test_quantiles():
    # Of 1 … 5 the 90 % quantile lies 0.6 of the way from the fourth to the fifth.
    found = quantiles([5.0, 1.0, 4.0, 2.0, 3.0])
    assert (found.p50, found.p90, found.mean, found.n) == (3.0, 4.6, 3.0, 5)
    assert quantiles([]) is None


@pytest.mark.slow
def test_a_real_run_from_the_suite_to_every_file(tmp_path):
    """Two frameworks, one of which lacks an operator; a fused one with its parts."""
    store = str(tmp_path / "ops.db")
    run = measure(
        "ops",
        axes={
            "op": ["exp", "relu", "layernorm_residual"],
            "framework": ["torch", "numpy"],
            "size": ["small"],
        },
        stages=("forward",),
        num_runs=2,
        num_repeats=2,
        store=store,
    )
    outcomes = {(case.name, case.framework): result.outcome for case, result in run}
    assert outcomes["exp", "torch"] == outcomes["exp", "numpy"] == outcomes["relu", "torch"] == "ok"
    assert outcomes["relu", "numpy"] == "unsupported"
    assert not run.failures
    with Store.open(store, create=False) as opened:
        found = rows(opened.results(run=opened.find_run("last"), samples=True))
    assert all(row.reason for row in found if row.outcome != "ok")
    (gain,) = gains(found)
    assert gain.fused.framework == "torch"
    assert gain.value > 0
    stream = io.StringIO()
    files.to_csv(found, stream)
    stream.seek(0)
    table = list(csv.DictReader(stream))
    assert len(table) == len(found)
    first = next(line for line in table if line["operator"] == "exp")
    assert float(first["p50"]) <= float(first["p90"]) <= float(first["p99"])
    stream = io.StringIO()
    files.to_json(found, stream)
    content = json.loads(stream.getvalue())
    assert len(content["operators"]) == len(found)
    assert content["fusion"][0]["gain"] == pytest.approx(gain.value)


def test_an_emulation_is_marked_and_never_the_fastest():
    slower = replace(ROW, framework="mxnet", estimate=2.0, low=1.9, high=2.1)
    third = replace(ROW, framework="jax", estimate=3.0, low=2.9, high=3.1, note="writes nothing")
    page = markdown([replace(ROW, emulated=True), slower, third])
    assert "| 1.00 s ± 10 % † | 2.00 s ± 5.0 % * | 3.00 s" in page
    assert "† several operators stand for one that the framework lacks" in page
    assert "add in jax: writes nothing" in page
