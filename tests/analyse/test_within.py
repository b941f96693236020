"""What a run compares within itself: its table and `opbench compare` say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.analyse.compare import compare_pairs
from opbench.analyse.matching import match
from opbench.analyse.projection import columns
from opbench.analyse.within import baseline_of, comparisons_of, comparisons_within, factors
from opbench.plan.groups import Baseline
from opbench.stats.prior import Prior
from opbench.stats.ratio import DESIGNS
from opbench.stats.start_variance import Learnt
from opbench.store import RunRecord, StoredResult
from synthetic import blocks, case, counted, timed

PLAIN = Baseline("mode", "plain")


def side(mode: str, value: float, metric: str = "time", **more) -> StoredResult:
    stored = timed(case(mode=mode), value, group=more.pop("group", "together"), **more)
    return replace(stored, result=replace(stored.result, metric=metric))


def table(*results: StoredResult) -> dict[tuple[str, str, str], tuple[float, float, float]]:
    found = factors([(stored.case, stored.result) for stored in results], PLAIN)
    return {
        (result.metric, result.environment, result.node): (ratio.value, ratio.low, ratio.high)
        for result, ratio in found
    }


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("learnt", [None, 0.06])
@pytest.mark.parametrize("together", [True, False])
def test_the_table_and_compare_give_the_same_interval_on_the_same_samples(design, learnt, together):
    sides = []
    for mode, value, group in (("plain", 1e-5, "g"), ("hooks", 1.3e-5, "g" if together else "h")):
        stored = side(mode, value, design=design, group=group)
        samples = tuple(
            replace(s, contended=i % 4 == 0, value=s.value * (1 + (i % 4 == 0)))
            for i, s in enumerate(blocks(value, noise=0.03))
        )
        learnt_detail = Learnt(Prior(learnt, 4), Prior(learnt, 4)).detail if learnt else {}
        detail = {**stored.result.detail, **learnt_detail}
        sides.append(replace(stored, result=replace(stored.result, samples=samples, detail=detail)))
    shown = table(*sides)["time", "current", ""]
    base, new = (each for each in columns(sides, "mode").values())
    (row,) = compare_pairs(match(base, new, (), "mode").pairs, names=("plain", "hooks")).rows
    assert shown == (row.value, row.low, row.high)
    record = RunRecord("r1", request={"baseline": "mode=plain"})
    (page,) = comparisons_within(baseline_of(record), sides)
    assert shown == (page.rows[0].value, page.rows[0].low, page.rows[0].high)
    assert row.design == (design if together else "separate")


def test_sides_measured_apart_are_not_taken_for_paired():
    """They have start numbers in common, but not the starts."""
    intervals = {}
    for design in ("separate", "paired"):
        sides = [side(mode, 1e-5, design=design) for mode in ("plain", "hooks")]
        intervals[design] = table(*sides)["time", "current", ""]
    (_, wide_low, wide_high), (_, low, high) = intervals["separate"], intervals["paired"]
    assert wide_low < 0.96 < low < 1 < high < 1.04 < wide_high


def test_every_sampled_time_has_factors_and_counts_have_none():
    results = [
        side(mode, value, metric, design="paired")
        for metric in ("host_time", "device_time")
        for mode, value in (("plain", 1e-5), ("hooks", 2e-5))
    ]
    memory = [counted(case(mode=mode), 100) for mode in ("plain", "hooks")]
    found = table(*results, *memory)
    assert {metric for metric, _, _ in found} == {"host_time", "device_time"}
    assert all(value == pytest.approx(2, rel=0.01) for value, _, _ in found.values())


def test_each_environment_and_each_node_has_its_own_factor():
    results = [
        side(mode, value * slow, design="paired", environment=environment, node=node)
        for environment, node, slow in (("a", "n1", 1), ("a", "n2", 2), ("b", "n1", 3))
        for mode, value in (("plain", 1e-5), ("hooks", slow * 1e-5))
    ]
    found = table(*results)
    assert {place: round(value[0]) for place, value in found.items()} == {
        ("time", "a", "n1"): 1,
        ("time", "a", "n2"): 2,
        ("time", "b", "n1"): 3,
    }


def test_without_its_baseline_nothing_has_a_factor():
    assert table(side("hooks", 1e-5), side("ghost", 1e-5)) == {}
    assert table(timed("add", 1e-5)) == {}
    failed = side("plain", 1e-5, outcome="failed", estimate=None)
    assert table(failed, side("hooks", 1e-5)) == {}


def test_a_run_of_two_sides_compares_them_whatever_its_benchmarks_suggest():
    """Functions of a group have a baseline of their own, which `opbench ab` leaves alone."""
    request = {
        "baseline": "name=library",
        "commits": ["HEAD~1", "HEAD"],
        "sides": [["aaaa", "HEAD~1"], ["bbbb", "HEAD"]],
    }
    results = [
        timed(case(name, group="softmax"), value * slow, environment=place, design="interleaved")
        for place, slow in (("bbbb", 1.5), ("aaaa", 1))  # the base need not come first
        for name, value in (("library", 1e-5), ("written_out", 2e-5))
    ]
    (found,) = comparisons_of(RunRecord("r1", request=request), results)
    assert (found.base, found.new) == ("HEAD~1", "HEAD")
    assert [row.verdict for row in found.rows] == ["slower", "slower"]
    assert len({row.case_id for row in found.rows}) == 2

    # One that was stored without the names of its sides.
    older = {key: value for key, value in request.items() if key != "sides"}
    (found,) = comparisons_of(RunRecord("r1", request=older), results[::-1])
    assert (found.base, found.new) == ("aaaa", "bbbb")
