"""What a run learnt of its machine is there for the next one, and goes with its run."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from opbench.store import RunRecord, Store
from opbench.store.checking import check
from opbench.store.connection.database import Database
from opbench.store.copying import copy
from opbench.store.records import StoredVariance
from opbench.store.start_variances import LATEST


def found(cases: int = 3, metric: str = "time", design: str = "") -> StoredVariance:
    return StoredVariance(metric, design, cases, 4.0 * cases, -8.5 * cases, 72.25, 0.6)


def begin(store: Store, number: int) -> str:
    record = RunRecord(f"r{number:02}", created=float(number))
    store.begin_run(record)
    return record.id


def test_it_comes_back_for_the_same_machine_only_newest_first(store):
    for number in (1, 2):
        store.add_start_variances(begin(store, number), "here", [found(number)])
    store.add_start_variances("r02", "elsewhere", [found(9)])
    assert store.start_variances("here") == [found(2), found(1)]
    assert store.start_variances("elsewhere") == [found(9)]
    assert store.start_variances("nowhere") == []


def test_a_continued_run_adds_to_what_it_had(store):
    run = begin(store, 1)
    store.add_start_variances(run, "here", [found(3), found(2, design="paired")])
    store.add_start_variances(run, "here", [found(5), found(1, metric="device_time")])
    by_kind = {(each.metric, each.design): each for each in store.start_variances("here")}
    assert by_kind["time", ""] == StoredVariance("time", "", 8, 32.0, -68.0, 144.5, 1.2)
    assert by_kind["time", "paired"].cases == 2
    assert by_kind["device_time", ""].cases == 1


def test_only_the_latest_runs_are_asked(store):
    for number in range(1, LATEST + 4):
        store.add_start_variances(begin(store, number), "here", [found(number)])
    cases = [each.cases for each in store.start_variances("here")]
    assert cases == list(range(LATEST + 3, 3, -1))


def test_it_is_copied_with_its_run_and_deleted_with_it(store, tmp_path):
    run = begin(store, 1)
    store.add_start_variances(run, "here", [found()])
    source, target = store.path, tmp_path / "copy.db"
    Store.open(target).close()
    databases = Database.open(source, create=False), Database.open(target, create=True)
    for _ in range(2):  # the second time there is nothing left to do
        copy(*databases, [run])
    for database in databases:
        assert check(database).faults == []
        database.close()
    with closing(sqlite3.connect(target)) as raw:
        assert raw.execute("SELECT run_id, machine FROM start_variances").fetchall() == [
            (run, "here")
        ]
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("DELETE FROM runs")
        raw.commit()
        assert raw.execute("SELECT count(*) FROM start_variances").fetchone() == (0,)


def test_it_needs_a_run(store):
    with pytest.raises(Exception, match="FOREIGN KEY"):
        store.add_start_variances("no-such-run", "here", [found()])
