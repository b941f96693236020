"""What the charts of scaling and of history say, from made-up results."""

from __future__ import annotations

import random

import page_store
from opbench.analyse.within import comparisons_of
from opbench.case import Case
from opbench.report.charts.chart import Drawing
from opbench.report.charts.every import drawings
from opbench.report.charts.history import _ticks
from opbench.report.charts.ratios import ORDERS
from opbench.report.charts.scaling import scaling
from opbench.report.page.contents import Contents, gather
from opbench.store import RunRecord, Store, StoredResult
from synthetic import case, timed


def results(*stages: str, **labels):
    rng = random.Random(1)
    found = []
    for stage in stages:
        for impl in ("naive", "flash"):
            for n in (64, 512):
                axes = (("n", n), ("impl", impl), *labels.items())
                case = Case("attention", "attention", stage, "f(x)", labels=axes)
                found.append(StoredResult("r", case, page_store.sampled(case, n * 1e-6, rng)))
    return found


def lines(drawing) -> list[str]:
    return drawing.words["{lines}"]


def test_a_line_is_called_by_what_tells_it_from_the_others():
    assert lines(scaling(results("forward", dtype="float32"))) == ["impl=flash", "impl=naive"]
    two = scaling([*results("forward", dtype="float32"), *results("forward", dtype="float16")])
    assert lines(two)[0] == "impl=flash, dtype=float16"
    # An axis that some cases do not have tells them apart too.
    some = scaling([*results("forward", heads=8), *results("forward")])
    assert lines(some) == ["impl=flash", "impl=flash, heads=8", "impl=naive", "impl=naive, heads=8"]


def test_the_sizes_have_the_ticks():
    assert scaling(results("forward")).words["{sizes}"] == [64, 512]


def test_stages_are_a_choice_of_the_page(tmp_path):
    with Store.open(tmp_path / "x.db") as store:
        run = page_store.begin(store, 0, "stages")
        pairs = [(s.case, s.result) for s in results("forward", "backward")]
        store.add_results(run, pairs)
        store.finish_run(run)
        found = [d for d in drawings(gather(store, "stages")) if d.kind == "scaling"]
    assert {drawing.choice["Stage"] for drawing in found} == {"forward", "backward"}
    assert [lines(drawing) for drawing in found] == [["impl=flash", "impl=naive"]] * 2


def test_the_ticks_of_a_history_can_be_told_apart():
    day, hour = 86_400.0, 3_600.0
    start = 1_794_744_000.0

    def ticks(*after: float) -> list[str]:
        return _ticks([(start + seconds, run, "") for seconds, run in zip(after, "ab")])

    assert ticks(0, day) == ["2026-11-15", "2026-11-16"]
    assert ticks(0, hour) == ["11-15 12:00", "11-15 13:00"]
    assert ticks(0, 0) == ["a", "b"]
    one_run = [(start, "a", "HEAD~1"), (start, "a", "HEAD")]
    assert _ticks(one_run) == ["2026-11-15 HEAD~1", "2026-11-15 HEAD"]


def test_functions_of_one_group_are_lines_of_one_picture():
    results = [
        timed(case(name, group=group, n=n), 1e-6 * n)
        for group, names in (("attention", ("naive", "flash")), ("mlp", ("plain", "fused")))
        for name in names
        for n in (64, 512)
    ]
    first, second = drawings(Contents(RunRecord("r"), results))
    assert first.words["{title}"] == "ops/attention: scaling with n"
    assert first.words["{lines}"] == ["flash", "naive"]
    assert second.words["{lines}"] == ["fused", "plain"]


def compared(*groups: str) -> list[Drawing]:
    """The charts of the run of functions, each group with two of them; the second is faster."""
    results = [
        timed(case(name, group=group), value, design="paired", group=group)
        for group in groups
        for name, value in (("library", 2e-5), ("mine", 1e-5))
    ]
    run = RunRecord("r", request={"baseline": "name=library"})
    return list(drawings(Contents(run, results, comparisons=comparisons_of(run, results))))


def test_functions_have_their_groups_below_the_chart_of_factors():
    (factors,) = (each for each in compared("softmax", "mlp") if each.kind == "factors")
    assert factors.data["points"]["benchmark"] == ["softmax", "mlp"]
    assert factors.choice["At"] == "–"


def test_one_factor_is_no_chart():
    assert [each.kind for each in compared("softmax")] == ["ratios"] * len(ORDERS)


def test_the_legend_of_ratios_has_the_verdicts_that_occur():
    ratios = compared("softmax", "mlp")[0]
    assert ratios.words["{verdicts}"] == ["faster"]
    assert ratios.words["{colours}"] == ["var(--faster)"]
    assert ratios.words["{shapes}"] == ["triangle-down"]
    assert "var(--" not in str(ratios.chart().to_dict())
