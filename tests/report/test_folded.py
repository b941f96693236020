"""Ids in narrow columns are broken where a person would break them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opbench.report.table import Column, Table, grid, printed
from opbench.report.terminal.folded import folded

ID = "tour/matmul[n=64,dtype=float32]/forward"


def test_an_id_is_broken_after_the_signs_that_join_its_parts():
    assert list(folded(ID, 100)) == [ID]
    assert list(folded(ID, 20)) == ["tour/matmul[n=64,", "dtype=float32]/", "forward"]
    assert list(folded(ID, 14)) == ["tour/matmul[", "n=64,", "dtype=float32]", "/forward"]


def test_only_a_part_longer_than_a_line_is_cut():
    assert list(folded("ops/" + "a" * 12, 5)) == ["ops/", "aaaaa", "aaaaa", "aa"]


@given(st.text(st.characters(blacklist_categories=["Cc", "Cs", "Z"])), st.integers(1, 40))
def test_nothing_is_lost_and_nothing_is_too_long(text, width):
    lines = list(folded(text, width))
    assert "".join(lines) == text
    assert all(len(line) <= width for line in lines)


def test_a_table_narrows_its_ids_no_further_than_their_parts():
    table = Table([Column("case", wrap="fold"), Column("time", wrap="never")], [[ID, "1" * 20]])
    shown = printed(lambda console: console.print(grid(table)), 40)
    column = [line[:17].strip() for line in shown.splitlines()[3:] if line.strip()]
    assert "".join(column) == ID
    assert all(line[-1] in "/[],d" for line in column)
