"""Factor and verdict in the cell of a pivot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.analyse.compare import ComparisonRow
from opbench.plan.groups import Baseline
from opbench.report.naming import LONGEST
from opbench.report.pivot import factor, pivots
from opbench.report.terminal.run import tables
from opbench.result import Result
from synthetic import blocks, case, timed


def row(value: float, low: float, high: float, verdict: str, unit: str = "s") -> ComparisonRow:
    return ComparisonRow("id", "time", unit, None, None, value, low, high, verdict=verdict)


@pytest.mark.parametrize(
    ("compared", "text"),
    [
        (row(1.02, 1.01, 1.03, "slower"), "1.02× slower [1.01, 1.03]"),
        (row(1.002, 1.001, 1.003, "slower"), "1.002× slower [1.001, 1.003]"),
        (row(0.5, 0.4, 0.625, "faster"), "2.00× faster [1.60, 2.50]"),
        (row(25.0, 20.0, 30.0, "slower"), "25.0× slower [20.0, 30.0]"),
        (row(2500.0, 2400.0, 2600.0, "slower"), "2500× slower [2400, 2600]"),
        (row(1.0, 0.99, 1.012, "same"), "same [0.99, 1.01]"),
        (row(1.1, 0.8, 1.4, "unknown"), "unknown [0.80, 1.40]"),
        # Disturbed, or near the margin: it reads in the direction of its neighbours.
        (row(0.72, 0.66, 0.78, "unknown"), "unknown (1.39× faster [1.28, 1.52])"),
        (row(2.0, 1.5, 2.5, "unknown"), "unknown (2.00× slower [1.50, 2.50])"),
        (row(2.0, 2.0, 2.0, "slower", "bytes"), "2.00× larger"),
        # A tiny change that is certain never reads as none.
        (row(1 / 1.0039, 1 / 1.0039, 1 / 1.0039, "faster", "bytes"), "1.004× smaller"),
        (row(1.00002, 1.00002, 1.00002, "slower", "bytes"), "1.00002× larger"),
    ],
)
def test_a_cell_reads_as_a_sentence(compared, text):
    assert factor(compared) == text


def test_heads_of_long_statements_are_cut_and_differ():
    long = [f"sum([{', '.join(map(str, range(99)))}, {last}, {'x, ' * 20}])" for last in (1, 2)]
    results = []
    for text, value in zip(long, (1e-6, 1.04e-6)):
        of = case("s", f=text)
        found = timed(of, value, design="paired", group="s", samples=blocks(value))
        results.append((of, found.result))
    (table,) = pivots(results, Baseline("f", long[0]))
    heads = [column.name for column in table.columns]
    assert len(set(heads)) == 2
    assert all(len(head) <= LONGEST for head in heads)
    assert not any(each in note for each in long for note in table.notes)


def test_sizes_stand_down_and_the_compared_axis_across_the_baseline_first():
    results = []
    for n in (64, 512):
        for name, value in (("fast", 1e-6), ("slow", 2e-6)):
            of = case("mm", impl=name, n=n)
            found = timed(of, value * n, design="paired", group=f"{n}", samples=blocks(value * n))
            results.append((of, found.result))
    (table,) = pivots(results, Baseline("impl", "slow"))
    assert [column.name for column in table.columns] == ["", "slow", "fast"]
    texts = [[getattr(cell, "text", cell) for cell in line] for line in table.rows]
    assert [line[0] for line in texts] == ["n=64", "n=512"]
    assert texts[0][1].startswith("128 µs ±")
    assert texts[0][2].startswith("2.00")
    assert "× faster [" in texts[1][2]


def test_the_stage_heads_the_rows_unless_it_is_the_plain_one():
    def headings(*stages):
        cases = [replace(case("mm", impl=i), stage=s) for s in stages for i in ("a", "b")]
        results = [(each, timed(each, 1e-6).result) for each in cases]
        return [table.columns[0].name for table in pivots(results, Baseline("impl", "a"))]

    assert headings("forward_backward") == ["forward_backward"]
    assert headings("forward", "step") == [""]
    assert headings("call") == ["a"]


def test_one_grid_holds_frameworks_of_several_environments():
    cases = {place: case("mm", impl=place) for place in ("here", "there")}
    results = [
        (each, replace(timed(each, 1e-6).result, environment=place))
        for place, each in cases.items()
    ]
    (grid,) = tables(results, Baseline("impl", "here"))
    assert [column.name for column in grid.columns] == ["here", "there"]
    # The same case in both: where it ran is what differs.
    twice = [(cases["here"], result) for _, result in results]
    (listed,) = tables(twice, Baseline("impl", "here"))
    assert "environment" in [column.name for column in listed.columns]


def test_groups_that_are_compared_by_name_have_tables_of_their_own():
    results = []
    for group, names in (("attention", ("naive", "flash")), ("mlp", ("plain", "fused"))):
        for n in (64, 512):
            for times, name in enumerate(names, 1):
                of = case(name, group=group, n=n)
                value = 1e-6 * n * times
                results.append((of, timed(of, value, design="paired", group=f"{group}{n}").result))
    results.append((case("alone", n=64), timed(case("alone", n=64), 1e-6).result))
    baseline = Baseline("name", "naive,plain")
    first, second, rest = tables(results, baseline)
    assert [column.name for column in first.columns] == ["", "naive", "flash"]
    assert [column.name for column in second.columns] == ["", "plain", "fused"]
    assert [getattr(line[0], "text", line[0]) for line in first.rows] == ["n=64", "n=512"]
    assert "× slower [" in second.rows[1][2].text
    assert rest.rows[0][0] == "ops/alone[n=64]/forward"


def test_why_a_verdict_is_unknown_is_said_once():
    results = []
    for n in (64, 512):
        for name in ("a", "b"):
            of = case("mm", impl=name, n=n)
            results.append((of, timed(of, 1e-6, samples=blocks(1e-6, starts=1, children=1)).result))
    (table,) = pivots(results, Baseline("impl", "a"))
    (note,) = table.notes
    assert note.startswith("unknown: b, n=64 and 1 more: ")


def test_beside_a_baseline_that_failed_a_cell_holds_its_own_value():
    of = {name: case("mm", impl=name) for name in ("a", "b")}
    failed = Result(of["a"].hash, "time", "s", "failed", "NameError: name 'x' is not defined")
    results = [(of["a"], failed), (of["b"], timed(of["b"], 2e-6).result)]
    (table,) = pivots(results, Baseline("impl", "a"))
    ((base, new),) = table.rows
    assert base.text == "failed"
    assert new.text.startswith("2.00 µs")
    assert not table.notes


def test_a_reason_stands_below_the_table_and_not_in_the_cell():
    of = {name: case("mm", impl=name) for name in ("a", "b")}
    one = blocks(1e-6, starts=1, children=1, count=1)
    results = [(each, timed(each, 1e-6, samples=one).result) for each in of.values()]
    (table,) = pivots(results, Baseline("impl", "a"))
    assert table.rows[0][1].text == "unknown"
    (note,) = table.notes
    assert note.startswith("unknown: b: one sample ")
