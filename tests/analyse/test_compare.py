"""Comparisons of made-up results: what is matched, how it is judged, and what cannot be."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.analyse.compare import ComparisonRow, compare
from opbench.analyse.gate import Gate
from opbench.case import Case, UserModule
from opbench.result import OUTCOMES, Result, Sample
from opbench.stats.distributions import t_quantile
from opbench.store import StoredResult
from synthetic import blocks, case, counted, timed


def only_row(base: StoredResult, new: StoredResult) -> ComparisonRow:
    comparison = compare([base], [new])
    assert len(comparison.rows) == 1
    return comparison.rows[0]


# -- matching ----------------------------------------------------------------------------------


def test_cases_are_matched_by_id_and_metric():
    base = [timed("add", 1e-5), counted("add", 100), timed("mul", 2e-5)]
    new = [timed("mul", 2e-5, run="r2"), counted("add", 100, run="r2"), timed("add", 1e-5)]
    comparison = compare(base, new, names=("before", "after"))
    assert (comparison.base, comparison.new) == ("before", "after")
    assert [(row.case_id, row.metric) for row in comparison.rows] == [
        ("ops/add/forward", "time"),
        ("ops/add/forward", "memory"),
        ("ops/mul/forward", "time"),
    ]
    assert [row.base.estimate for row in comparison.rows] == [1e-5, 100, 2e-5]


def test_raw_instructions_are_compared_only_alone():
    """They say the same as `instructions`, less exactly: a change would count twice."""
    side = [counted("add", 100, metric="instructions"), counted("add", 120, metric="allocations")]
    raw = [counted("add", 150, metric="instructions_raw")]
    found = compare(side + raw, side + raw)
    assert [row.metric for row in found.rows] == ["instructions", "allocations"]
    assert [row.metric for row in compare(raw, raw).rows] == ["instructions_raw"]
    assert found.only_base == ()


def test_what_one_side_lacks_is_named_and_not_judged():
    base = [timed("add", 1e-5), counted("add", 100), timed("old", 1e-5)]
    new = [timed("add", 1e-5), timed("new", 1e-5), counted("new", 5)]
    comparison = compare(base, new)
    assert [row.case_id for row in comparison.rows] == ["ops/add/forward"]
    assert comparison.only_base == ("ops/add/forward (memory)", "ops/old/forward")
    assert comparison.only_new == ("ops/new/forward",)


def test_nothing_in_common_is_an_empty_comparison():
    comparison = compare([timed("a", 1.0)], [timed("b", 1.0)])
    assert comparison.rows == ()
    assert comparison.means == ()
    assert (comparison.only_base, comparison.only_new) == (("ops/a/forward",), ("ops/b/forward",))


def test_the_later_of_two_results_counts():
    twice = [timed("add", 5e-5), timed("add", 1e-5)]
    comparison = compare(twice, twice)
    assert [row.base.estimate for row in comparison.rows] == [1e-5]


def test_an_edited_case_is_compared_and_said_to_be_edited():
    row = only_row(timed(case(stmt="f(x)"), 1e-5), timed(case(stmt="f(x, x)"), 2e-5))
    assert row.edited
    assert row.verdict == "slower"
    assert not only_row(timed("add", 1e-5), timed("add", 1e-5)).edited


def test_a_change_in_the_code_under_test_is_no_edit_of_the_benchmark():
    def at(digest: str) -> StoredResult:
        return timed(replace(case(), module=UserModule("bench", "/project", digest)), 1e-5)

    assert at("before").case.hash != at("after").case.hash
    assert not only_row(at("before"), at("after")).edited


# -- designs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "new", "design"),
    [
        ({"design": "paired"}, {"design": "paired"}, "paired"),
        ({"design": "interleaved"}, {"design": "interleaved"}, "interleaved"),
        # Measured one after the other, because both did not fit in memory.
        ({"design": "separate"}, {"design": "separate"}, "separate"),
        ({}, {}, "separate"),
        # Another run, another group, another idea of what was done: nothing was interleaved.
        ({"design": "paired"}, {"design": "paired", "run": "r2"}, "separate"),
        ({"design": "paired"}, {"design": "paired", "group": "other"}, "separate"),
        ({"design": "paired"}, {"design": "interleaved"}, "separate"),
        ({"design": "nonsense"}, {"design": "nonsense"}, "separate"),
    ],
)
def test_only_blocks_of_one_group_and_run_were_interleaved(base, new, design):
    assert only_row(timed("add", 1e-5, **base), timed("add", 1e-5, **new)).design == design


def test_the_sharper_the_design_the_smaller_what_would_show():
    shown = [
        only_row(timed("add", 1e-5, design=d), timed("add", 1e-5, design=d)).detectable
        for d in ("paired", "interleaved", "separate")
    ]
    # Whether starts are shared shows in their scatter, which is the same here; that the machine may
    # have moved between runs does not.
    assert shown[0] == shown[1] < shown[2]


def test_a_difference_of_two_percent_shows_in_pairs_and_not_in_runs():
    assert (
        only_row(timed("a", 1e-5, design="paired"), timed("a", 1.02e-5, design="paired")).verdict
        == "slower"
    )
    apart = only_row(timed("a", 1e-5), timed("a", 1.02e-5, run="r2"))
    assert apart.verdict == "unknown"
    assert "reaches beyond ±3%" in apart.reason


def test_a_disturbed_side_ends_in_unknown_in_every_design():
    busy = tuple(replace(s, contended=i % 3 > 0) for i, s in enumerate(blocks(2e-5)))
    row = only_row(timed("a", 1e-5), timed("a", 2e-5, run="r2", samples=busy))
    assert row.verdict == "unknown"
    assert row.reason == "67% of the new blocks were disturbed by other programs"
    assert row.value == pytest.approx(2, rel=0.01)
    together = only_row(
        timed("a", 1e-5, design="paired"), timed("a", 2e-5, design="paired", samples=busy)
    )
    # Who of two sides waits for the other programs is a matter of luck.
    assert (together.verdict, together.reason) == (row.verdict, row.reason)


def test_a_few_disturbed_blocks_are_left_out():
    some = tuple(
        replace(s, contended=i % 3 == 0, value=s.value * (9 if i % 3 == 0 else 1))
        for i, s in enumerate(blocks(1e-5))
    )
    row = only_row(timed("a", 1e-5), timed("a", 1e-5, samples=some))
    assert row.value == pytest.approx(1, rel=0.01)


# -- metrics that repeat -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "base", "new", "verdict", "value"),
    [
        ("memory", 4096, 4096, "same", 1.0),
        ("memory", 4096, 4100, "slower", 4100 / 4096),
        ("memory", 4096, 2048, "faster", 0.5),
        ("memory", 0, 0, "same", 1.0),
        ("memory", 0, 4096, "slower", None),
        ("memory", 4096, 0, "faster", None),
        ("instructions", 100_000, 100_090, "same", 1.0009),  # within 0.1 %
        ("instructions", 100_000, 100_110, "slower", 1.0011),
        ("instructions", 100_000, 99_000, "faster", 0.99),
        ("count", 3, 4, "slower", 4 / 3),
    ],
)
def test_values_that_repeat_are_judged_by_themselves(metric, base, new, verdict, value):
    row = only_row(counted("a", base, metric), counted("a", new, metric))
    assert (row.verdict, row.design) == (verdict, "exact")
    assert row.value == (value if value is None else pytest.approx(value))


def test_a_count_that_varies_is_judged_by_its_own_spread():
    def varying(top: float) -> StoredResult:
        return counted("a", top, low=top - 20, high=top)

    assert only_row(varying(100), varying(105)).verdict == "same"
    assert only_row(varying(100), varying(150)).verdict == "slower"


def test_memory_does_not_share_the_error_rate_of_time():
    """Of ten times, one with p ≈ 0.02 is no discovery, whatever nine counts say."""
    many = [timed(f"t{i}", 1e-5, design="paired") for i in range(9)]
    edge_base = timed("edge", 1e-5, design="paired")
    edge_new = timed("edge", 1.0015e-5, design="paired")
    alone = compare([edge_base], [edge_new])
    assert alone.of("slower")
    assert not compare([*many, edge_base], [*many, edge_new]).of("slower")
    counts = [counted(f"t{i}", 100) for i in range(9)]
    assert compare([*counts, edge_base], [*counts, edge_new]).of("slower")


# -- the mean ----------------------------------------------------------------------------------


def test_the_mean_is_geometric_and_per_metric():
    base = [timed("a", 1e-5), timed("b", 1e-3), counted("a", 100), counted("b", 100)]
    new = [timed("a", 2e-5), timed("b", 0.5e-3), counted("a", 400), counted("b", 100)]
    time, memory = compare(base, new).means
    assert (time.metric, time.cases) == ("time", 2)
    assert time.value == pytest.approx(1.0, rel=0.005)  # √(2 · ½)
    assert time.low < 1 < time.high
    assert memory.value == pytest.approx(2.0)  # √(4 · 1)
    assert memory.low == memory.high


def test_the_mean_of_many_is_surer_than_each():
    base = [timed(f"c{i}", 1e-5, design="paired") for i in range(16)]
    comparison = compare(base, base)
    row, mean = comparison.rows[0], comparison.means[0]
    # Independent errors shrink with the root of their number, √16 = 4; and they are better known:
    # 16 · 5 degrees of freedom instead of 5.
    expected = 4 * t_quantile(5) / t_quantile(80)
    assert (row.high - row.low) / (mean.high - mean.low) == pytest.approx(expected, rel=0.01)


def test_the_mean_of_many_does_not_outvote_a_shift_of_the_machine():
    base = [timed(f"c{i}", 1e-5) for i in range(16)]
    comparison = compare(base, [replace(stored, run_id="r2") for stored in base])
    row, mean = comparison.rows[0], comparison.means[0]
    assert row.design == "separate"
    assert mean.high - mean.low > 0.9 * (row.high - row.low)


def test_what_would_show_depends_on_the_size_of_the_suite():
    many = [timed(f"c{i}", 1e-5, design="paired") for i in range(20)]
    alone = compare(many[:1], many[:1]).rows[0].detectable
    assert compare(many, many).rows[0].detectable > 1.5 * alone


def test_what_has_no_ratio_is_not_in_the_mean():
    base = [timed("a", 1e-5), timed("b", 1e-5)]
    new = [timed("a", 1e-5), timed("b", 1e-5, outcome="failed", reason="boom")]
    assert compare(base, new).means[0].cases == 1


# -- bad input ---------------------------------------------------------------------------------

GOOD = timed("a", 1e-5)
ONE = (Sample(1e-5),)


def spoiled(*values: float) -> tuple[Sample, ...]:
    good = list(blocks(1e-5, starts=2, children=1, count=3))
    return tuple(replace(s, value=v) for s, v in zip(good, values)) + tuple(good[len(values) :])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"outcome": "failed", "reason": "ValueError: no"}, "failed: ValueError: no"),
        ({"outcome": "crashed", "reason": "SIGSEGV"}, "crashed SIGSEGV"),
        ({"outcome": "unsupported", "reason": "needs CUDA"}, "is unsupported: needs CUDA"),
        ({"outcome": "timeout", "reason": "300 s"}, "timed out: 300 s"),
        ({"estimate": None}, "has no value"),
        ({"estimate": math.inf}, "has values that are not finite"),
        ({"high": math.nan}, "has values that are not finite"),
        ({"samples": spoiled(math.inf)}, "has values that are not finite"),
        ({"samples": spoiled(math.nan)}, "has values that are not finite"),
        ({"samples": ONE}, "one sample says nothing about its own noise"),
        ({"samples": ()}, "a value without samples says nothing about its own noise"),
        ({"samples": spoiled(0, 0, 0)}, "a time of zero or less has no ratio"),
        ({"samples": spoiled(-1, -1, -1)}, "a time of zero or less has no ratio"),
    ],
)
def test_bad_values_end_in_unknown_with_a_reason(bad, reason):
    spoilt = timed("a", 1e-5, **bad)
    for base, new, side in ((GOOD, spoilt, "the new side"), (spoilt, GOOD, "the base")):
        row = only_row(base, new)
        assert (row.verdict, row.value) == ("unknown", None)
        named = reason.startswith(("is ", "has ", "failed", "crashed", "timed"))
        assert row.reason == (f"{side} {reason}" if named else reason)


def test_a_single_block_below_zero_is_a_low_value_like_any_other():
    """The empty loop is taken off each block: a burst in it must not decide about the case."""
    row = only_row(GOOD, timed("a", 1e-5, samples=spoiled(-1e-9)))
    assert row.value == pytest.approx(1, rel=0.01)


def test_values_that_are_worlds_apart_have_no_ratio_and_no_verdict():
    huge = timed("a", 1e300, samples=blocks(1e300))
    tiny = timed("a", 1e-300, samples=blocks(1e-300))
    for base, new in ((huge, tiny), (tiny, huge)):
        row = only_row(base, new)
        assert row.verdict == "unknown"
        assert row.reason
    assert only_row(counted("a", 1e300), counted("a", 1e-300)).verdict == "unknown"


def test_a_negative_count_is_no_count():
    row = only_row(counted("a", 100), counted("a", -100))
    assert (row.verdict, row.reason) == ("unknown", "a negative number of bytes is none")


def test_different_units_are_not_compared():
    other = timed("a", 1e-5)
    other = replace(other, result=replace(other.result, unit="ms"))
    row = only_row(GOOD, other)
    assert (row.verdict, row.reason) == ("unknown", "one is in s, the other in ms")


any_number = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e-5, 5e-324, 1.7e308, -1e-9, math.inf, math.nan]),
)
any_samples = st.lists(
    st.builds(
        Sample,
        any_number,
        start=st.integers(0, 2),
        session=st.integers(0, 1),
        contended=st.booleans(),
    ),
    max_size=6,
).map(tuple)


@st.composite
def garbage(draw: st.DrawFn) -> StoredResult:
    of = Case("s", draw(st.sampled_from("ab")), "forward", "f()")
    metric, unit = draw(
        st.sampled_from([("time", "s"), ("time", "ms"), ("memory", "bytes"), ("odd", "")])
    )
    maybe = st.one_of(st.none(), any_number)
    result = Result(
        of.hash,
        metric,
        unit,
        outcome=draw(st.sampled_from(["ok", "ok", *OUTCOMES])),
        estimate=draw(maybe),
        low=draw(maybe),
        high=draw(maybe),
        samples=draw(any_samples),
        detail=draw(st.sampled_from([{}, {"design": "paired"}, {"design": 3}, {"design": None}])),
        group=draw(st.sampled_from(["", "g"])),
        environment=draw(st.sampled_from(["x", "y"])),
    )
    return StoredResult(draw(st.sampled_from(["r1", "r2"])), of, result)


def is_solid(result: Result) -> bool:
    """Whether a verdict may rest on it."""
    if not result.ok or result.estimate is None or not math.isfinite(result.estimate):
        return False
    if result.unit != "s":
        return result.estimate >= 0
    return sum(0 < s.value < math.inf for s in result.samples) >= 2


@given(st.lists(garbage(), max_size=6), st.lists(garbage(), max_size=6))
def test_garbage_never_raises_and_never_gets_a_verdict(base, new):
    comparison = compare(base, new)
    for row in comparison.rows:
        if row.verdict != "unknown":
            assert is_solid(row.base)
            assert is_solid(row.new)
            assert row.base.unit == row.new.unit
        else:
            assert row.reason
        assert row.value is None or 0 < row.value < math.inf
    for mean in comparison.means:
        assert not math.isnan(mean.value)


# -- short runs ----------------------------------------------------------------------------------


def short_run(rng: random.Random, run: str, starts: int) -> list[StoredResult]:
    """Thirty-six cases of a few blocks each. Their starts scatter by 5 %, their blocks by 2 %; and
    the machine is faster or slower by some 5 % for the whole of it, which so short a run cannot
    see."""
    shift = rng.gauss(0, 0.05)
    found = []
    for number in range(36):
        value = 1e-6 * (1 + number)
        samples = tuple(
            Sample(value * math.exp(level + rng.gauss(0, 0.02)), start, start, order=block)
            for start in range(starts)
            for level in [shift + rng.gauss(0, 0.05)]
            for block in range(5)
        )
        found.append(timed(f"case{number}", value, samples=samples, run=run))
    return found


@pytest.mark.parametrize("starts", [1, 2])
def test_the_same_commit_twice_in_a_hurry_does_not_fail_a_gate(starts):
    rng, gate = random.Random(3), Gate.parse(["slower"])
    failed = sum(
        gate.exit_code([compare(short_run(rng, "a", starts), short_run(rng, "b", starts))]) != 0
        for _ in range(30)
    )
    assert failed <= 2  # of 30 suites; 5 % are 1.5
