"""A few trials of each campaign of `python -m perf chaos`."""

from __future__ import annotations

import random

import pytest
from perf.chaos import outages, stores, workers
from perf.fuzz.readers import store_seed


def test_a_killed_worker_costs_no_case(tmp_path):
    assert workers.worker_killed(tmp_path, random.Random(1)) == []


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """The campaigns' limits are for a machine that does nothing else."""
    monkeypatch.setattr(stores, "MOST_SECONDS", 300.0)
    monkeypatch.setattr(workers, "RUN_SECONDS", 600.0)
    monkeypatch.setattr(outages, "RUN_SECONDS", 600.0)


#: But for the one that would measure: these stores have no benchmarks, so it would be the tour.
READING = [words for words in stores.READING if words[0] != "run"]


def some_commands(number):
    """A quarter of those that read stores: any four stores in a row are read by all of them."""
    return READING[number % 4 :: 4]


@pytest.mark.parametrize(("number", "statements"), list(enumerate(stores.HOSTILE[::7])))
def test_a_hostile_store_is_one_line(number, statements, tmp_path):
    (tmp_path / "sound").mkdir()
    store_seed(tmp_path / "sound")
    (tmp_path / "read").mkdir()
    stores.hostile(tmp_path / "sound" / "seed.db", statements, tmp_path / "read" / "theirs.db")
    assert stores.faults(tmp_path / "read" / "theirs.db", some_commands(number)) == []


def test_damaged_stores_are_one_line(tmp_path):
    (tmp_path / "sound").mkdir()
    sound, rng = store_seed(tmp_path / "sound"), random.Random(2)
    for number in range(4):
        path = tmp_path / str(number) / "theirs.db"
        path.parent.mkdir()
        path.write_bytes(stores.damaged(sound, rng))
        assert stores.faults(path, some_commands(number)) == []


def test_a_run_goes_through_an_outage(server, tmp_path):
    assert outages.outage(server, tmp_path, 1.0, random.Random(3)) == []
