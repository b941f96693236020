"""The histories of all cases of a run; each says what the history of that case alone says."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from nights import machine, nights_in, scatter
from opbench.analyse.differences import Difference
from opbench.analyse.history import Series, histories, history
from opbench.analyse.within import baseline_of, comparisons_within
from opbench.case import Case
from opbench.plan.groups import Baseline
from opbench.stats import changepoints
from opbench.store import Store

FLAT = Case("layers", "conv", "forward", "layer(x)", labels=(("batch", 16),))
STEPS = Case("layers", "linear", "forward", "layer(x)", labels=(("batch", 16),))
EDITED = Case("layers", "linear", "forward", "layer(x * 1)", labels=(("batch", 16),))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Twelve nights: one case is steady; the other is edited and gets slower, and fails once."""
    path = tmp_path / "results.db"
    with nights_in(path) as nights:
        for number in range(12):
            fingerprint = "f2" if number >= 9 else "f1"
            run = nights.add(1e-5 * scatter(number), case=FLAT, fingerprint=fingerprint)
            case = EDITED if number >= 6 else STEPS
            value = (1.2e-5 if number >= 6 else 1e-5) * scatter(number + 5)
            if number == 3:
                nights.add_to(run, None, case, outcome="crashed", reason="SIGSEGV")
            else:
                nights.add_to(run, value, case, fingerprint=fingerprint)
            nights.add_to(run, 4096.0, case, half=0.0, metric="memory", unit="bytes")
        other = machine("ffff0000", "another")
        nights.add(3e-5, case=FLAT, on=other)
    return path


def content(series: Series) -> tuple[object, ...]:
    changes = [(c.index, c.ratio, [d.kind for d in c.differences]) for c in series.changes]
    values = [point.estimate for point in series.points]
    notes = {index: [d.kind for d in known] for index, known in series.notes.items()}
    return (series.environment, values, changes, notes)


def test_they_agree_with_the_history_of_each_case(filled):
    with Store.open(filled, create=False) as store:
        last = store.runs()[0]
        assert {series.case_id for series in histories(store, last.id)} == {FLAT.id}
        before = store.runs()[1]
        many = histories(store, before.id)
        assert {(series.case_id, series.metric) for series in many} == {
            (FLAT.id, "time"), (STEPS.id, "time"), (STEPS.id, "memory"),
        }  # fmt: skip
        for series in many:
            alone = history(store, series.case_id, series.metric)
            long = [content(each) for each in alone.series if len(each.points) > 1]
            assert long == [content(series)]
            assert series.unit == alone.unit == ("bytes" if series.metric == "memory" else "s")
    (series,) = (each for each in many if (each.case_id, each.metric) == (STEPS.id, "time"))
    (change,) = series.changes
    assert change.index == 6
    assert change.ratio == pytest.approx(1.2, rel=0.02)
    assert "case" in [difference.kind for difference in change.differences]


def test_an_upgrade_of_opbench_is_noted_in_both(tmp_path):
    with nights_in(tmp_path / "r.db") as nights:
        for number in range(4):
            nights.add(1e-5, case=FLAT, version="0.2.0" if number > 1 else "0.1.0")
    with Store.open(tmp_path / "r.db", create=False) as store:
        (series,) = histories(store, store.runs()[0].id)
        (alone,) = history(store, FLAT.id).series
    assert content(series) == content(alone)
    assert series.notes == {2: (Difference("opbench", "opbench", "0.1.0", "0.2.0"),)}


def test_nodes_of_a_fleet_have_histories_of_their_own(tmp_path):
    fleet = {**machine(), "fleet": {"one": {"cpu": "EPYC"}, "two": {"cpu": "Xeon"}}}
    with nights_in(tmp_path / "r.db") as nights:
        for number in range(4):
            run = nights.add(1e-5 * scatter(number), case=FLAT, on=fleet, node="one")
            nights.add_to(run, 3e-5 * scatter(number), FLAT, node="two")
    with Store.open(tmp_path / "r.db", create=False) as store:
        found = histories(store, store.runs()[0].id)
        alone = history(store, FLAT.id).series
    for several in (found, alone):
        nodes = {(series.machine, series.hardware) for series in several}
        assert nodes == {("one", "EPYC"), ("two", "Xeon")}
    assert all(len(series.points) == 4 and not series.changes for series in found)


def test_a_value_that_is_not_a_number_is_a_point_without_one(tmp_path):
    nan = float("nan")
    with nights_in(tmp_path / "r.db") as nights:
        for value in (1e-5, nan, 1.1e-5):
            nights.add(value, case=FLAT)
    with Store.open(tmp_path / "r.db", create=False) as store:
        (series,) = histories(store, store.runs()[0].id)
    assert [point.ok for point in series.points] == [True, False, True]
    assert all(math.isnan(value) for value in series.points[1][-3:])


def test_only_the_latest_runs_when_asked(filled):
    with Store.open(filled, create=False) as store:
        found = store.history(run=store.runs()[1], last=5)
    assert len(found.runs) == 5
    # The latest of the five is another machine's.
    assert [row.origin.index for row in found.rows[(FLAT.id, "time")]] == [0, 1, 2, 3, 4]


def test_a_run_alone_is_no_history(tmp_path):
    with nights_in(tmp_path / "r.db") as nights:
        run = nights.add(case=FLAT)
        assert histories(nights.store, run) == []


def test_samples_come_as_they_are_stored(tmp_path):
    import page_store
    from opbench.store.payload import columns

    page_store.fill(tmp_path / "results.db", nights=1)
    with Store.open(tmp_path / "results.db", create=False) as store:
        run = store.find_run("night 0")
        packed = store.packed_samples(run)
        results = store.results(run=run, samples=True)
    sampled = [stored for stored in results if stored.result.samples]
    assert len(packed) == len(sampled)
    for stored in sampled:
        result = stored.result
        key = (result.case_hash, result.environment, result.metric)
        assert columns(packed[key])["value"] == [sample.value for sample in result.samples]


def test_looking_for_blips_in_one_go_finds_what_looking_one_by_one_does():
    """`_suspects` may name too many points, and never too few."""
    rng = random.Random(3)
    for count in (6, 12, 13, 14, 40, 200):
        for _ in range(20):
            levels = [rng.gauss(0, 1) for _ in range(count)]
            for at in rng.sample(range(count), count // 6):
                levels[at] += rng.choice((-9, 9))
            named = set(changepoints._suspects(levels, 3.0))
            for index, level in enumerate(levels):
                sides = levels[max(0, index - 3) : index], levels[index + 1 : index + 4]
                away = [
                    changepoints._distance(level, sides[0], sides[1]),
                    changepoints._distance(level, sides[1], sides[0][::-1]),
                ]
                if min(map(abs, away)) > 3.0 and away[0] * away[1] > 0:
                    assert index in named


def test_a_run_in_one_environment_without_a_baseline_compares_nothing(filled):
    with Store.open(filled, create=False) as store:
        run = store.runs()[1]
        assert comparisons_within(baseline_of(run), store.results(run=run, samples=True)) == []


def test_a_baseline_that_nothing_has_compares_nothing():
    assert comparisons_within(Baseline("mode", "none"), []) == []
