"""Counts by function do what torch's own class does, on the same counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.late import Late, needs

from opbench.analyse.function_counts import FunctionCounts, InstructionStats
from opbench.case import Case
from opbench.counting import Function, Profile
from opbench.errors import UserError

needs("torch")
torchs = Late("torch.utils.benchmark.utils.valgrind_wrapper.timer_interface")

names = st.sampled_from(["malloc [libc.so]", "at::add [libtorch.so]", "f", "g", "dict [x.so]"])
counts = st.dictionaries(names, st.integers(-(10**6), 10**9))


def both(found: dict[str, int], inclusive: bool = False):
    return (
        FunctionCounts.of(found, inclusive),
        torchs.FunctionCounts._from_dict(found, inclusive),
    )


def rows(found) -> list[tuple[int, str]]:
    return [(count, function) for count, function in found]


@given(counts, counts, st.floats(-10, 10), st.integers(-4, 4), st.integers(-4, 4))
def test_as_torchs_class(one, other, factor, begin, end):
    ours, theirs = both(one)
    more, their_more = both(other)
    assert rows(ours) == rows(theirs)
    assert len(ours) == len(theirs)
    assert ours.sum() == theirs.sum()
    assert rows(ours + more) == rows(theirs + their_more)
    assert rows(ours - more) == rows(theirs - their_more)
    assert rows(ours * factor) == rows(theirs * factor)
    assert rows(ours[begin:end]) == rows(theirs[begin:end])
    assert rows(ours.filter(lambda name: "[" in name)) == rows(
        theirs.filter(lambda name: "[" in name)
    )
    assert rows(ours.transform(lambda name: name[:2])) == rows(
        theirs.transform(lambda name: name[:2])
    )


def test_inclusive_and_exclusive_counts_do_not_mix():
    inclusive, theirs = both({"f": 3}, inclusive=True)
    exclusive, their_exclusive = both({"f": 1})
    with pytest.raises(AssertionError):
        theirs - their_exclusive
    with pytest.raises(UserError, match="cannot be added"):
        inclusive - exclusive
    assert (inclusive[:1] * 2).transform(str.upper).filter(bool).inclusive


def stats(own: dict[Function, int], **arcs: int) -> InstructionStats:
    case = Case("t", "c", "call", "x + y", "x = y = 1", threads=1)
    inner, outer = Function("inner", "a.so"), Function("outer", "a.so")
    spent = {(outer, inner): arcs["spent"]} if arcs else {}
    return InstructionStats(Profile(own, dict.fromkeys(spent, 1), spent), 10, case)


def test_the_methods_of_torchs_stats():
    """`torchs.CallgrindStats` has these members, and each means the same here."""
    inner, outer = Function("inner", "a.so"), Function("outer", "a.so")
    before = stats({inner: 70, outer: 30, Function("malloc", "libc.so"): 5}, spent=70)
    after = stats({inner: 90, outer: 30}, spent=90)
    for name in ("stats", "counts", "delta", "as_standardized", "task_spec", "number_per_run"):
        assert (
            hasattr(torchs.CallgrindStats, name)
            or name in vars(torchs.CallgrindStats)["__dataclass_fields__"]
        )
        assert hasattr(before, name)
    assert before.counts() == 105
    assert before.counts(denoise=True) == 100
    assert rows(before.stats(inclusive=True))[0] == (100, "outer [a.so]")
    assert rows(after.delta(before)) == [(20, "inner [a.so]"), (-5, "malloc [libc.so]")]
    assert rows(after.delta(before).denoise()) == [(20, "inner [a.so]")]
    assert rows(after.delta(before, inclusive=True))[:2] == [
        (20, "outer [a.so]"), (20, "inner [a.so]"),
    ]  # fmt: skip
    assert before.as_standardized() is before
    assert (before.task_spec.stmt, before.task_spec.setup) == ("x + y", "x = y = 1")
    assert "fn=" in before.stmt_callgrind_out
