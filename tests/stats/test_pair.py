"""The one comparison of two results: which design, which start variance, which blocks."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

import opbench
from opbench.result import Result, Sample
from opbench.stats.contention import undisturbed
from opbench.stats.pair import (
    compare_results,
    compare_samples,
    compare_sum,
    design_of,
    drift_of,
    learnt_of,
)
from opbench.stats.prior import NOTHING, Prior
from synthetic import blocks, counted, timed


def result(value: float, design: str = "paired", **more: object) -> Result:
    return timed("add", value, design=design, **more).result


def half(low: float | None, high: float | None, value: float | None) -> float:
    assert low is not None
    assert high is not None
    assert value is not None
    return (high - low) / 2 / value


# -- which design ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "design"),
    [
        ({}, "paired"),
        ({"group": "another"}, "separate"),
        ({"group": ""}, "separate"),
        ({"detail": {}}, "separate"),
        ({"detail": {"design": "interleaved"}}, "separate"),
        # A group is measured on each node of a fleet by itself, under the same name.
        ({"node": "n2"}, "separate"),
    ],
)
def test_only_one_group_on_one_node_was_measured_as_recorded(change, design):
    base = result(1e-5)
    new = replace(result(1.1e-5), **change)
    assert design_of(base, new) == design
    assert compare_results(base, new).design == design
    assert design_of(base, new, same_run=False) == "separate"


def test_two_nodes_of_one_run_are_not_as_sure_as_one():
    here = compare_results(result(1e-5, node="n1"), result(1e-5, node="n1"))
    apart = compare_results(result(1e-5, node="n1"), result(1e-5, node="n2"))
    assert half(apart.low, apart.high, apart.value) > 3 * half(here.low, here.high, here.value)


# -- which start variance ----------------------------------------------------------------------


@pytest.mark.parametrize(("design", "key"), [("paired", "pair_layout"), ("separate", "layout")])
def test_the_larger_of_the_learnt_scatters_counts(design, key):
    quiet, loud = (
        replace(result(1e-5, design), detail={"design": design, key: sd, f"{key}_freedom": 4.0})
        for sd in (0.002, 0.2)
    )
    for sides in ((quiet, loud), (loud, quiet)):
        learnt = learnt_of(*sides)
        assert {learnt.start, learnt.pair} == {NOTHING, Prior(0.2, 4.0)}
    usual, wide = compare_results(quiet, quiet), compare_results(quiet, loud)
    assert half(wide.low, wide.high, 1.0) > 2 * half(usual.low, usual.high, 1.0)


def test_each_run_has_its_own_drift_or_a_default():
    plain = result(1e-5, "")
    seen = replace(plain, detail={"drift": 0.002, "drift_freedom": 20.0})
    assert (drift_of(plain), drift_of(seen)) == (Prior(0.015, 4.0), Prior(0.002, 20.0))
    assert drift_of(replace(plain, detail={"drift": 0.002})).freedom == 6
    unknown, known = compare_results(plain, plain), compare_results(seen, seen)
    assert unknown.design == known.design == "separate"
    assert half(unknown.low, unknown.high, 1.0) > 5 * half(known.low, known.high, 1.0)


# -- which blocks ------------------------------------------------------------------------------


def marked(value: float, every: int, slow: float = 9.0) -> tuple[Sample, ...]:
    """Every so-manieth block is disturbed, and so much slower."""
    return tuple(
        replace(s, contended=True, value=s.value * slow) if i % every == 0 else s
        for i, s in enumerate(blocks(value))
    )


def test_disturbed_blocks_are_left_out_on_both_sides_or_on_neither():
    few, many, none = marked(1.0, 3), marked(1.0, 1), blocks(1.0)
    assert [len(side) for side in undisturbed(few, none)] == [40, 60]
    assert [len(side) for side in undisturbed(few, few)] == [40, 40]
    # A side of which too little would remain keeps all, and so does the other.
    assert undisturbed(few, many) == (few, many)
    # One undisturbed block, or any number below half, is not enough.
    rest = [replace(s, contended=i > 0) for i, s in enumerate(blocks(1.0))]
    assert undisturbed(rest, none) == (rest, none)
    for kept, size in ((29, 60), (30, 30)):
        side = [replace(s, contended=i >= kept) for i, s in enumerate(blocks(1.0))]
        assert len(undisturbed(side)[0]) == size
    assert undisturbed(many) == (many,)


def test_exchanging_the_sides_inverts_the_ratio_whatever_was_disturbed():
    sides = marked(1.0, 3, slow=1.1), marked(1.0, 1, slow=1.1)
    one, other = (compare_samples(a, b, "paired") for a, b in (sides, sides[::-1]))
    assert one is not None
    assert other is not None
    assert one.value == pytest.approx(1 / other.value)


@pytest.mark.parametrize("design", ["paired", "interleaved", ""])
def test_a_side_disturbed_by_half_is_no_evidence_in_any_design(design):
    busy = result(1e-5, design, samples=marked(1e-5, 3, slow=1.0) + marked(1e-5, 1, slow=1.0))
    quiet = result(1e-5, design)
    for base, new, side in ((busy, quiet, "base"), (quiet, busy, "new")):
        pair = compare_results(base, new)
        assert pair.reason == f"67% of the {side} blocks were disturbed by other programs"
        assert pair.question.obstacle == pair.reason


def test_of_two_runs_neither_may_be_contended():
    """Identical code in the load of another moment: its undisturbed blocks are slower too."""
    busy = result(1.5e-5, samples=marked(1.5e-5, 3, slow=3.0))
    calm = result(1e-5, samples=marked(1e-5, 5, slow=3.0))
    pair = compare_results(calm, busy, same_run=False)
    assert pair.reason == "33% of the new blocks were disturbed by other programs"
    assert pair.question.obstacle == pair.reason
    assert compare_results(calm, busy, same_run=True).reason == ""
    assert compare_results(calm, calm, same_run=False).reason == ""


def test_load_does_not_explain_a_multiple_unless_most_blocks_were_disturbed():
    calm = result(1e-5)
    for value, every, decided in ((2e-4, 3, True), (3e-5, 3, False), (2e-4, 1, False)):
        busy = result(value, samples=marked(value, every, slow=1.0))
        for pair in (calm, busy), (busy, calm):
            assert (compare_results(*pair, same_run=False).reason == "") is decided


# -- values that repeat ------------------------------------------------------------------------


def settling(result: Result, slower: float) -> Result:
    """The first four of the blocks of each child are slower than the rest by so much."""
    seen: dict[tuple[int, int], int] = {}
    samples = []
    for sample in result.samples:
        place = (sample.start, sample.session)
        seen[place] = seen.get(place, 0) + 1
        samples.append(replace(sample, value=sample.value * (1 + slower * (seen[place] <= 4))))
    return replace(result, samples=tuple(samples))


def test_what_settled_by_as_much_as_two_runs_differ_is_no_verdict():
    quiet = {"drift": 0.0005, "drift_freedom": 50.0, "layout": 0.001, "layout_freedom": 50.0}
    base, new = (
        replace(result(value, "", samples=blocks(value, count=12)), detail=quiet)
        for value in (1e-5, 1.1e-5)
    )
    clear = compare_results(base, new)
    assert clear.reason == ""
    assert clear.low > 1.05
    for sides in ((settling(base, 0.2), new), (base, settling(new, 0.2))):
        assert (
            "had not settled: its first samples were 20% slower" in compare_results(*sides).reason
        )
    assert (
        compare_results(
            settling(base, 0.07),
            replace(
                new,
                samples=tuple(replace(sample, value=2 * sample.value) for sample in new.samples),
            ),
        ).reason
        == ""
    ), "7 % does not explain a factor of two"
    together = [replace(side, detail={"design": "paired"}) for side in (settling(base, 0.2), new)]
    assert compare_results(*(replace(side, group="g") for side in together)).reason == ""


def test_a_verdict_on_counts_needs_no_suite():
    pair = compare_results(counted("a", 100).result, counted("a", 200).result)
    assert (pair.value, pair.verdict, pair.design) == (2.0, "slower", "exact")
    assert pair.question is None
    assert compare_results(result(1e-5), result(2e-5)).question is not None


# -- sums --------------------------------------------------------------------------------------


def started(value: float, seed: int, design: str = "paired", scatter: float = 0.05) -> Result:
    """Four starts that differ by `scatter`, alike for everything that runs in them."""
    levels, rng = random.Random(0), random.Random(seed)
    samples = []
    for start in range(4):
        level = value * (1 + levels.gauss(0, scatter))
        samples += [
            Sample(level * (1 + rng.gauss(0, 0.001)), start=start, session=child)
            for child in range(2)
            for _ in range(9)
        ]
    wide = {"low": value * 0.9, "high": value * 1.1}
    return Result("h", "time", "s", estimate=value, samples=tuple(samples), group="g",
                  detail={"design": design}, **wide)  # fmt: skip


def test_parts_measured_turn_by_turn_with_the_whole_share_its_starts():
    whole, parts = started(2.0, 1), [started(2.5, 2), started(0.5, 3)]
    together = compare_sum(whole, parts)
    assert together.design == "paired"
    assert together.value == pytest.approx(1.5, rel=0.002)
    assert half(together.low, together.high, together.value) < 0.01
    assert compare_sum(whole, parts, same_run=False).design == "separate"


def test_parts_measured_apart_have_independent_errors():
    parts = [replace(started(2.5, 2), group="b"), replace(started(0.5, 3), group="c")]
    apart = compare_sum(started(2.0, 1), parts)
    assert (apart.design, apart.value) == ("separate", 1.5)
    # 10 % each: of the whole, and of the parts √(2.5² + 0.5²) / 3.
    expected = 0.1 * (1 + (2.5**2 + 0.5**2) / 9) ** 0.5
    assert half(apart.low, apart.high, apart.value) == pytest.approx(expected)


def test_a_sum_without_every_part_is_none():
    failed = Result("h", "time", "s", outcome="failed", reason="boom")
    assert compare_sum(started(1.0, 1), [started(1.0, 2), failed]).value is None


def test_a_sum_of_one_part_is_that_part():
    whole, part = started(2.0, 1), started(2.5, 2)
    found, plain = compare_sum(whole, [part]), compare_results(whole, part)
    assert (found.value, found.low, found.high) == (plain.value, plain.low, plain.high)


# -- the only way ------------------------------------------------------------------------------


def test_nobody_else_divides_samples():
    source = Path(opbench.__file__).parent
    imports = re.compile(r"from opbench\.stats\.ratio import ([^(\n]+|\([^)]*\))")
    callers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for names in imports.findall(path.read_text(encoding="utf-8"))
        if "ratio" in re.findall(r"\w+", names)
    }
    assert callers == {"stats/pair.py"}


# -- starts of the pool that two runs share ----------------------------------------------------


def pooled(values: dict[str, float], seed: int = 0) -> Result:
    """A run whose starts, by their identity, took so long; numbered in the order given."""
    rng = random.Random(seed)
    samples = tuple(
        Sample(value * rng.gauss(1, 0.002), start=number, session=session, wall_ns=1, cpu_ns=1)
        for number, value in enumerate(values.values())
        for session in range(2)
        for _ in range(5)
    )
    ids = {str(number): identity for number, identity in enumerate(values)}
    detail = {"start_ids": ids, "drift": 0.004, "drift_freedom": 50.0}
    return replace(timed("add", 1.0).result, samples=samples, detail=detail, group="")


def test_runs_that_share_starts_are_paired_by_start():
    starts = {"a": 1.0, "b": 1.2, "c": 0.8, "d": 1.1, "e": 0.9}
    base = pooled(starts, seed=1)
    # The same starts, in another order, and two that the first run did not have.
    slower = {each: starts[each] * 1.05 for each in ("d", "b", "a", "e", "c")}
    new = pooled({"x": 3.0, **slower, "y": 0.1}, seed=2)
    pair = compare_results(base, new, same_run=False)
    assert pair.design == "shared"
    assert pair.ratio is not None
    assert pair.ratio.starts == 5
    assert pair.value == pytest.approx(1.05, rel=0.005)
    assert pair.low is not None
    assert 1.02 < pair.low < 1.05
    # What the machine may have changed meanwhile is still part of the interval.
    assert pair.ratio.shift == pytest.approx(0.004 * 2**0.5)
    assert half(pair.low, pair.high, pair.value) > 2 * 0.004
    # Taken as separate, starts that scatter by 16 % would hide it.
    fresh = replace(new, detail={**new.detail, "start_ids": {}})
    apart = compare_results(base, fresh, same_run=False)
    assert apart.design == "separate"
    assert half(apart.low, apart.high, apart.value) > 0.1


def test_one_shared_start_says_little_and_is_never_taken_for_many():
    base = pooled({"a": 1.0, "b": 1.01, "c": 0.99})
    new = pooled({"a": 1.1, "x": 1.1, "y": 1.1})
    pair = compare_results(base, new, same_run=False)
    assert pair.design == "shared"
    assert pair.ratio is not None
    assert pair.ratio.starts == 1
    assert half(pair.low, pair.high, pair.value) > 0.1


def test_results_of_one_group_stay_paired_in_a_pool():
    base = replace(pooled({"a": 1.0, "b": 1.2, "c": 0.8}), group="g")
    base = replace(base, detail={**base.detail, "design": "paired"})
    new = replace(base, samples=tuple(replace(s, value=s.value * 2) for s in base.samples))
    assert compare_results(base, new).design == "paired"


def test_identical_code_in_shared_starts_raises_few_alarms():
    """Starts scatter by 6 %, children by 0.5 %, the machine drifts by 0.4 % from run to run."""
    rng = random.Random(7)
    alarms = 0
    for _ in range(300):
        layout = {str(number): rng.gauss(1, 0.06) for number in range(6)}
        runs = []
        for _ in range(2):
            shift = rng.gauss(1, 0.004)
            took = {each: value * shift * rng.gauss(1, 0.005) for each, value in layout.items()}
            runs.append(pooled(took, seed=rng.randrange(10**6)))
        pair = compare_results(*runs, same_run=False)
        assert pair.low is not None
        assert pair.high is not None
        alarms += not pair.low <= 1 <= pair.high
    assert alarms <= 300 * 0.08  # nominally 5 %
