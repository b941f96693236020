"""A few trials of each campaign of `python -m perf chaos`."""

from __future__ import annotations

import random

import pytest
from perf import checks
from perf.chaos import outages, stores, user_code, workers
from perf.fuzz.readers import store_seed


def test_a_killed_worker_costs_no_case(tmp_path):
    assert workers.worker_killed(tmp_path, random.Random(1)) == []


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """The campaigns' limits are for a machine that does nothing else."""
    monkeypatch.setattr(stores, "MOST_SECONDS", 300.0)
    monkeypatch.setattr(workers, "RUN_SECONDS", 600.0)
    monkeypatch.setattr(outages, "RUN_SECONDS", 600.0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    store_seed(folder)
    stores.warm(folder / "seed.db")
    return folder / "seed.db"


@pytest.mark.parametrize("number", range(0, len(stores.HOSTILE), 7))
def test_a_hostile_store_is_one_line(number, sound, tmp_path):
    (tmp_path / "read").mkdir()
    path = tmp_path / "read" / "theirs.db"
    stores.hostile(sound, stores.HOSTILE[number], path)
    assert stores.faults(path, stores.READING[number % 4 :: 4]) == []


def test_damaged_stores_are_one_line(sound, tmp_path):
    rng = random.Random(2)
    for number in range(4):
        path = tmp_path / str(number) / "theirs.db"
        path.parent.mkdir()
        path.write_bytes(stores.damaged(sound.read_bytes(), rng))
        assert stores.faults(path, stores.READING[number % 4 :: 4]) == []


def test_faults_of_user_code_are_outcomes(tmp_path, monkeypatch):
    few = ("raises with odd texts", "kills its group", "kills its parent", "stops itself")
    monkeypatch.setattr(user_code, "FAULTS", {name: user_code.FAULTS[name] for name in few})
    assert user_code.faults_of_code(tmp_path) == []


@pytest.mark.slow
def test_a_run_goes_through_an_outage(server, tmp_path):
    assert outages.outage(server, tmp_path, 1.0, random.Random(3)) == []


def test_the_cost_of_the_checks_can_be_measured(tmp_path, monkeypatch):
    """What `python -m perf checks` takes out of a process, by name, is still there to be taken."""
    monkeypatch.setattr(checks, "CASES", 1)
    assert checks.run_seconds(tmp_path, "without") > 0
