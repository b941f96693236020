"""A table in any width: every column is there, and no line is longer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.plan.groups import Baseline
from opbench.report.pivot import pivots
from opbench.report.table import Column, Table, grid, plain_table, printed, to_terminal
from opbench.report.terminal.fitted import Need, groups, widths
from synthetic import blocks, case, timed

MODES = ("baseline", "baseline+split", "hooks", "hooks+per_layer", "hooks+split", "functorch",
         "functorch+per_layer", "functorch+split", "ew", "ew+per_layer", "ew+split", "ghost",
         "ghost+per_layer", "ghost+split")  # fmt: skip


def text_of(table, width):
    return printed(lambda console: console.print(grid(table)), width)


@pytest.mark.parametrize("width", [60, 80, 120, 160, 400])
def test_a_pivot_of_many_columns_loses_none(width):
    results = []
    for times, mode in enumerate(MODES, 1):
        of = case("step", mode=mode, batch_size=4)
        found = timed(of, times * 1e-3, design="paired", group="s", samples=blocks(times * 1e-3))
        results.append((of, found.result))
    (table,) = pivots(results, Baseline("mode", "baseline"))
    lines = text_of(table, width).splitlines()
    assert all(len(line) <= width for line in lines)
    heads = [line.split() for line, below in itertools.pairwise(lines) if "─" in below]
    assert [head for line in heads for head in line] == list(MODES)
    tables = sum("─" in line for line in lines)
    assert sum("batch_size=4" in line for line in lines) == tables
    assert tables == {60: 7, 80: 5, 120: 3, 160: 2, 400: 1}[width]


def test_one_empty_line_is_between_two_tables():
    """A grid begins and ends with one; notes, and a table without columns, do not."""
    grids = [
        Table([Column("n")], [["1"]], title, notes) for title, notes in (("a", ["b"]), ("c", ()))
    ]
    tables = [*grids, Table((), (), "d"), Table((), (), "e")]
    text = printed(lambda console: to_terminal(tables, console), 80)
    lines = [line.strip() for line in text.splitlines()]
    grid_of = ["", "n", "─", "1", ""]
    assert lines == ["a", *grid_of, "b", "", "c", *grid_of, "d", "", "e"]


def test_columns_that_do_not_fit_are_shared_out_evenly():
    needs = [Need(10, 10), *[Need(20, 30)] * 6]
    assert groups(needs, 1, 200, 3) == [[0, 1, 2, 3, 4, 5, 6]]
    assert groups(needs, 1, 125, 3) == [[0, 1, 2, 3], [0, 4, 5, 6]]
    assert groups(needs, 1, 30, 3) == [[0, each] for each in range(1, 7)]


def test_wide_columns_are_narrowed_before_narrow_ones_and_none_below_its_need():
    assert widths([Need(20, 60), Need(5, 50), Need(5, 8)], 40) == [20, 12, 8]
    assert widths([Need(20, 20), Need(20, 20)], 15) == [8, 7]


short = st.text("abc/,= ", min_size=1, max_size=40)


@given(
    header=st.lists(short, min_size=1, max_size=12),
    wraps=st.lists(st.sampled_from(["fold", "words", "cut", "never"]), min_size=12, max_size=12),
    width=st.integers(40, 200),
    narrow=st.booleans(),
    labels=st.integers(0, 3),
)
def test_no_line_is_longer_than_the_width(header, wraps, width, narrow, labels):
    columns = [Column(name, wrap=wrap) for name, wrap in zip(header, wraps)]
    row = [f"{index}" for index, _ in enumerate(header)]
    table = Table(columns, [row, row], narrow=narrow, labels=labels)
    lines = text_of(table, width).splitlines()
    if labels < len(header):  # labels alone may leave no room
        assert {part for line in lines for part in line.split()} >= set(row)
    assert all(len(line) <= width for line in lines) or labels > 1


def test_numbers_stay_whole_where_they_do_not_fit():
    table = plain_table("", ["layer", "mode", *(f"batch {n}" for n in range(6))],
                        [["linear", "hooks", *["16.83 ms ± 0.44 %"] * 6]], wrap=False)  # fmt: skip
    text = text_of(table, 80)
    assert text.count("16.83 ms ± 0.44 %") == 6
    assert text.count("linear   hooks") == 2
