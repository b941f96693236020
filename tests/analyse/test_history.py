"""Histories of one case, from a real store: what is joined, what is marked, what is kept apart."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from nights import CASE, DAY, NOON, machine, nights_in, scatter
from opbench.analyse.differences import Difference
from opbench.analyse.history import history
from opbench.store import StoreError


@pytest.fixture
def nights(tmp_path):
    with nights_in(tmp_path / "results.db") as opened:
        yield opened


def test_every_run_is_a_point_with_its_facts(nights):
    for night in range(4):
        nights.add(1e-5 * scatter(night))
    found = history(nights.store, CASE.id)
    (series,) = found.series
    assert (found.unit, found.runs, series.measured) == ("s", 4, 4)
    days = [point.run.created for point in series.points]
    assert days == [NOON + night * DAY for night in range(4)]
    first = series.points[0]
    origin = first.origin
    assert (first.run.name, origin.commit, first.run.version) == ("nightly", "00000000", "0.1.0")
    assert (origin.environment, origin.fingerprint) == ("current", "f1")
    assert origin.machine == "a1b2c3d4"
    assert first.low < first.estimate < first.high
    assert (series.machine, series.hardware) == ("a1b2c3d4", "EPYC 9654 × 8")
    assert series.changes == ()
    assert series.notes == {}


def test_a_change_stands_beside_what_changed(nights):
    for night in range(16):
        later = night >= 8
        nights.add(1e-5 * scatter(night) * (1.06 if later else 1), fingerprint=f"f{1 + later}")
    (series,) = history(nights.store, CASE.id).series
    (change,) = series.changes
    assert change.index == 8
    assert change.rises
    assert change.ratio == pytest.approx(1.06, abs=0.01)
    assert (change.before.run.id, change.after.run.id) == tuple(
        point.run.id for point in series.points[7:9]
    )
    assert change.differences == (
        Difference("package", "numpy", "2.2.6", "2.3.5"),
        Difference("commit", "commit", "7" * 8, "8" * 8),
    )
    assert series.notes == {8: (Difference("package", "numpy", "2.2.6", "2.3.5"),)}


def test_a_failed_night_is_a_point_and_does_not_count(nights):
    for night in range(12):
        if night == 6:
            nights.add(None, outcome="crashed", reason="SIGSEGV")
        else:
            nights.add(1e-5 * scatter(night) * (1.08 if night > 6 else 1))
    (series,) = history(nights.store, CASE.id).series
    assert (len(series.points), series.measured) == (12, 11)
    (change,) = series.changes
    assert change.index == 7
    assert change.before is series.points[5]


def test_machines_are_never_joined(nights):
    slow = machine("ffff0000", "Atom")
    for night in range(12):
        nights.add(1e-5 * scatter(night) * (1 + night % 2), on=slow if night % 2 else machine())
    newest, other = history(nights.store, CASE.id).series
    assert (newest.machine, other.machine) == ("ffff0000", "a1b2c3d4")
    assert newest.changes == other.changes == ()


def test_another_processor_under_the_same_id_is_another_machine(nights):
    nights.add(on=machine(model="EPYC 9654"))
    nights.add(on=machine(model="EPYC 7763"))
    assert [s.hardware for s in history(nights.store, CASE.id).series] == [
        "EPYC 7763 × 8",
        "EPYC 9654 × 8",
    ]


def test_environments_of_one_run_are_series_of_their_own(nights):
    for _ in range(3):
        run = nights.add(1e-5)
        nights.add_to(run, 3e-5, environment="mxnet", fingerprint="f2")
    names = {s.environment: len(s.points) for s in history(nights.store, CASE.id).series}
    assert names == {"current": 3, "mxnet": 3}


def test_commits_measured_as_environments_are_points_of_one_series(nights):
    for index, sha in enumerate(("abc1234" + "0" * 33, "def5678" + "0" * 33)):
        nights.store.add_environment(
            f"c{index}", {"interpreter": {"version": "3.12.1", "commit": sha}}
        )
        nights.add(environment=sha[:7], fingerprint=f"c{index}")
    (series,) = history(nights.store, CASE.id).series
    assert series.environment == "current"
    assert [point.origin.commit[:7] for point in series.points] == ["abc1234", "def5678"]
    assert series.notes == {}


def test_edited_source_another_opbench_and_settings_are_marked(nights):
    edited = replace(CASE, stmt="layer(x, x)")
    nights.store.add_environment(
        "f3",
        {
            "interpreter": {
                "version": "3.13.0",
                "packages": {"numpy": "2.2.6"},
                "threads": {"OMP_NUM_THREADS": "4"},
            }
        },
    )
    nights.add()
    nights.add(case=edited)
    nights.add(case=edited, version="0.2.0")
    nights.add(case=edited, version="0.2.0", fingerprint="f3")
    nights.add(case=edited, version="0.2.0", fingerprint="unknown")
    (series,) = history(nights.store, CASE.id).series
    assert series.notes == {
        1: (Difference("case", "case", CASE.hash, edited.hash),),
        2: (Difference("opbench", "opbench", "0.1.0", "0.2.0"),),
        3: (
            Difference("package", "torch", "2.9.0", ""),
            Difference("interpreter", "python", "3.12.1", "3.13.0"),
            Difference("setting", "OMP_NUM_THREADS", "", "4"),
        ),
        4: (Difference("environment", "environment", "f3", "unknown"),),
    }


def test_the_last_runs_only(nights):
    ids = [nights.add() for _ in range(5)]
    (series,) = history(nights.store, CASE.id, last=2).series
    assert [point.run.id for point in series.points] == ids[-2:]


def test_a_metric_that_is_not_stored_is_named_with_those_that_are(nights):
    nights.add()
    with pytest.raises(StoreError, match=r"no memory of layers/linear.* is stored: it has time"):
        history(nights.store, CASE.id, "memory")


def test_odd_machines_do_no_harm(nights):
    nights.add(on={"cpu": "EPYC", "gpus": [{"name": "H200"}, None]})
    (series,) = history(nights.store, CASE.id).series
    assert series.hardware == "H200"


def test_a_thousand_runs(nights, capsys):
    for night in range(1000):
        nights.add(1e-5 * scatter(night) * (1.05 if night >= 600 else 1))
    history(nights.store, CASE.id)  # imports
    begun = time.perf_counter()
    (series,) = history(nights.store, CASE.id).series
    taken = time.perf_counter() - begun
    with capsys.disabled():
        print(f"\nhistory of 1,000 runs: {taken * 1000:.0f} ms", end=" ")
    assert [change.index for change in series.changes] == [600]
