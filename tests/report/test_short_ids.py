"""Ids in tables: what all rows share stands in the heading, once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.case import Case
from opbench.report.naming import LONGEST, brief, shortened


@pytest.mark.parametrize(
    ("ids", "common", "short"),
    [
        (
            ["tour/add[n=64,dtype=float32]/forward", "tour/mul[n=64,dtype=float32]/forward"],
            "tour/…[n=64,dtype=float32]/forward",
            ["add", "mul"],
        ),
        (
            ["tour/add[n=64,dtype=float32]/forward", "tour/add[n=128,dtype=float32]/forward"],
            "tour/add[dtype=float32,…]/forward",
            ["n=64", "n=128"],
        ),
        (
            ["a/x[n=1]/forward", "a/x[n=1]/backward", "a/y[n=2]/forward"],
            "a/…",
            ["x[n=1]/forward", "x[n=1]/backward", "y[n=2]/forward"],
        ),
        (["a/x/forward", "b/y/call"], "", ["a/x/forward", "b/y/call"]),
        (["a/x/forward", "a/x/call"], "a/x/…", ["forward", "call"]),
        (
            ["time/s[f=g(x, y)]/call", "time/s[f=h(x)]/call"],
            "time/s[…]/call",
            ["f=g(x, y)", "f=h(x)"],
        ),
        (["a/x/call in cpu", "a/x/call in gpu"], "a/x/call", [" in cpu", " in gpu"]),
        (["a/x/call"], "", ["a/x/call"]),
        (["a/x[n=1,m=2]/f", "a/x[m=2,n=1]/f"], "", ["a/x[n=1,m=2]/f", "a/x[m=2,n=1]/f"]),
        (["a/x/call", "something else"], "", ["a/x/call", "something else"]),
    ],
)
def test_what_all_share_stands_in_the_heading(ids, common, short):
    assert shortened(ids) == (common, dict(zip(ids, short)))


NAMES = st.sampled_from(["add", "mul"])
AXES = st.dictionaries(st.sampled_from(["n", "m", "dtype"]), st.sampled_from([1, 2, "a,b", "x=1"]))


@given(st.lists(st.tuples(NAMES, AXES, st.sampled_from(["call", "forward"])), max_size=6))
def test_two_ids_never_become_one(parts):
    cases = [
        Case("s", name, stage, "f()", labels=tuple(axes.items())) for name, axes, stage in parts
    ]
    ids = dict.fromkeys(case.id for case in cases)
    _, short = shortened(ids)
    assert len(set(short.values())) == len(ids)


def statement(changed: int, last: int = 99) -> str:
    return f"sum([{', '.join(str(0 if n == changed else n) for n in range(1, 99))}, {last}])"


def test_a_long_value_keeps_its_ends():
    assert brief(["f(x)", statement(1)]) == {
        "f(x)": "f(x)",
        statement(1): "sum([0, 2, 3, 4, 5, 6, 7, 8, … 93, 94, 95, 96, 97, 98, 99])",
    }


def test_long_values_that_differ_in_the_middle_show_where():
    first, second = brief([statement(50), statement(51)]).values()
    assert first == "sum([1, 2, 3, 4, 5,… 48, 49, 0, 51, 52,…5, 96, 97, 98, 99])"
    assert second == "sum([1, 2, 3, 4, 5,… 48, 49, 50, 0, 52,…5, 96, 97, 98, 99])"


@given(st.sets(st.tuples(st.integers(20, 80), st.sampled_from([99, 5]) | st.just(7)), max_size=9))
def test_no_two_values_become_one(chosen):
    values = [statement(*each) for each in chosen]
    short = brief(values)
    assert len(set(short.values())) == len(values)
    assert all(len(text) <= LONGEST for text in short.values())


def test_an_axis_with_long_values_does_not_fill_a_row():
    ids = [f"time/s[n={n},f={statement(1)}]/call" for n in (1, 2)]
    common, short = shortened(ids)
    assert common == "time/s[f=sum([0, 2, 3, 4, 5, 6, 7, 8, … 93, 94, 95, 96, 97, 98, 99]),…]/call"
    assert list(short.values()) == ["n=1", "n=2"]
