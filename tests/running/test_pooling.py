"""A run that takes its workers from the pool: what it keeps, and when it does without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import opbench
from opbench.errors import UserError
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.stats.pair import compare_results
from opbench.store import Store
from opbench.workers.shared import NoSupervisor, Supervisor

FILE = """
import opbench as ob

@ob.bench()
def total():
    return sum(range(1000))
"""


class Notices(Listener):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def pool(own_pool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bench_total.py").write_text(FILE)


def measured(listener: Listener | None = None, **options) -> Result:
    # A fixed design: however slow the machine, three worker starts.
    options = {"num_runs": 9, "num_repeats": 5, **options}
    run = opbench.run("bench_total.py", listener=listener, **options)
    ((_, result),) = run.results
    assert result.ok
    return result


def test_two_runs_share_their_starts_and_are_compared_as_dependent(pool):
    first, second = measured(pool=True), measured(pool=True)
    ids = first.detail["start_ids"]
    assert {*ids} == {str(sample.start) for sample in first.samples}
    assert len({*ids.values()}) == len(ids) == 3
    assert second.detail["start_ids"] == ids
    pair = compare_results(first, second, same_run=False)
    assert pair.design == "shared"
    with Store.open(None, create=False) as store:
        (stored,) = store.results(run=store.find_run("last"), samples=True)
    assert compare_results(first, stored.result, same_run=False) == pair


def test_without_the_option_workers_start_fresh(pool):
    assert "start_ids" not in measured(save=False).detail
    with pytest.raises(NoSupervisor):
        Supervisor(begin=False)


def test_ci_never_uses_it(pool, monkeypatch):
    monkeypatch.setenv("CI", "true")
    heard = Notices()
    assert "start_ids" not in measured(heard, pool=True, save=False).detail
    assert heard.texts == ["CI is set, so the pool is not used: workers start fresh"]
    with pytest.raises(NoSupervisor):
        Supervisor(begin=False)


def test_a_pool_that_cannot_be_used_costs_nothing_but_time(pool, tmp_path):
    (tmp_path / "runtime" / "opbench").mkdir()
    os.chmod(tmp_path / "runtime" / "opbench", 0o777)
    heard = Notices()
    assert "start_ids" not in measured(heard, pool=True, save=False).detail
    (text,) = heard.texts
    os.chmod(tmp_path / "runtime" / "opbench", 0o700)
    assert text.endswith(f"fix: chmod 700 {tmp_path / 'runtime' / 'opbench'}; workers start fresh")


def test_it_is_of_one_machine(pool):
    with pytest.raises(UserError, match="--pool keeps workers on this machine"):
        opbench.run("bench_total.py", pool=True, on="ray")
