"""Ids in tables: what all rows share stands in the heading, once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.case import Case
from opbench.report.naming import shortened


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
