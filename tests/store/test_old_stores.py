"""Stores written by earlier versions open, migrate, and are read, compared and continued.

`old/schema_N.sql` holds what opbench 0.1 stored for `old/bench_sums.py` under schema N: two
finished runs of two cases, and an interrupted one, called `half`, that lacks a case. The files are
never written anew: what they say is what stores out there say.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from opbench.analyse.compare import compare
from opbench.analyse.history import history
from opbench.analyse.sides import find_side
from opbench.store import Store
from opbench.store.checking import check
from opbench.store.connection.database import Database
from opbench.store.connection.sqlite_file import schema_of
from opbench.store.facts import machine_and_hardware
from opbench.store.tables import SCHEMA_VERSION

OLD = Path(__file__).parent / "old"
SCHEMAS = (1, 2, 3)
CASES = ("bench_sums/summed[n=10]/call", "bench_sums/summed[n=100]/call")


@pytest.fixture(params=SCHEMAS)
def old(request, tmp_path) -> Path:
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / f"schema_{request.param}.sql").read_text(encoding="utf-8"))
    assert schema_of(path) == request.param
    return path


def test_every_schema_has_its_file():
    assert tuple(range(1, SCHEMA_VERSION + 1)) == SCHEMAS


def test_it_opens_migrates_and_reads(old):
    with Store.open(old, create=False) as store:
        assert [run.name for run in store.runs()] == ["half", "second", "first"]
        found = store.results(samples=True)
    assert schema_of(old) == SCHEMA_VERSION
    assert [stored.case.id for stored in found[:2]] == list(CASES)
    assert all(stored.result.ok and stored.result.node == "" for stored in found)
    assert all(len(stored.result.samples) == stored.n_samples > 0 for stored in found)
    # Details under the names they were stored by.
    assert {"between", "within", "starts"} <= found[0].result.detail.keys()


def test_what_its_runs_saw_of_the_machine_is_known_from_schema_3_on(old):
    before = schema_of(old)
    with Store.open(old, create=False) as store:
        here = machine_and_hardware(store.runs()[0].machine)
        found = store.start_variances(here)
    assert [(each.metric, each.design) for each in found] == [("time", "")] * (before >= 3)
    assert all(each.cases >= 1 and each.freedom > 0 for each in found)


def test_nothing_in_it_is_out_of_order(old):
    database = Database.open(old, create=False)
    try:
        assert check(database).faults == []
    finally:
        database.close()


def test_its_results_are_compared_and_have_a_history(old):
    with Store.open(old, create=False) as store:
        base, new = find_side(store, "first"), find_side(store, "second")
        found = history(store, CASES[0])
    rows = compare(base.results, new.results).rows
    assert [row.case_id for row in rows] == list(CASES)
    assert all(row.value is not None and row.low < row.value < row.high for row in rows)
    assert found.runs == 3


def test_a_run_in_it_is_continued(old, opbench_here, tmp_path):
    # Beside the file, because the hash of a case covers the content of its module.
    shutil.copy(OLD / "bench_sums.py", tmp_path)
    fixed = ("--num-runs", 2, "--num-repeats", 2)
    done = opbench_here("run", "bench_sums.py", *fixed, "--name", "half", "--cont", "--store", old)
    assert done.returncode == 0, done.stderr
    with Store.open(old, create=False) as store:
        run = store.find_run("half")
        found = store.results(run=run)
    assert run.status == "finished"
    assert {stored.case.id for stored in found} == set(CASES)
    # The stored case is the one expanded today, so its first result is kept and not replaced.
    assert len({stored.case.hash for stored in found}) == 2
    assert found[0].case.id == CASES[0]
