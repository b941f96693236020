"""A PostgreSQL server that is away for a while costs a run nothing but the time."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from opbench.case import Case
from opbench.result import Result
from opbench.store import RunRecord, Store, StoreError
from opbench.store.connection import database
from opbench.store.connection.outage import Outages, is_outage
from opbench.store.errors import Unreachable

CASE = Case("s", "n", "call", "pass")


@pytest.fixture
def away(server):
    """Call it to stop the server; it is back after so many seconds, and at the end of the test."""
    threads: list[threading.Thread] = []

    def stop(seconds: float) -> None:
        server.stop("immediate")

        def start() -> None:
            time.sleep(seconds)
            server.start()

        threads.append(threading.Thread(target=start))
        threads[-1].start()

    yield stop
    for thread in threads:
        thread.join()


def test_what_is_written_meanwhile_is_stored_when_it_is_back(away, url):
    heard: list[str] = []
    with Store.open(url) as store:
        store.outages.notice = heard.append
        store.begin_run(RunRecord("r", created=1.0))
        away(1.0)
        assert store.add_result("r", CASE, Result(CASE.hash, "a", "s"))
        assert store.add_result("r", CASE, Result(CASE.hash, "b", "s"))
        store.finish_run("r")
        assert {s.result.metric for s in store.results()} == {"a", "b"}
        assert store.find_run("r").status == "finished"
    assert len(heard) == 1
    assert "does not answer; trying again for 60 s" in heard[0]
    assert ":***@" in heard[0]


def test_a_killed_backend_is_replaced(server, url):
    with Store.open(url) as store:
        store.begin_run(RunRecord("r", created=1.0))
        store.add_result("r", CASE, Result(CASE.hash, "a", "s"))
        ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'opbench'"
        server.sql(f"SELECT pg_terminate_backend(pid) FROM ({ours}) AS ours")
        assert store.add_result("r", CASE, Result(CASE.hash, "b", "s"))


def test_one_that_stays_away_is_waited_for_once(server, url):
    waits: list[str] = []
    with Store.open(url) as store:
        store.begin_run(RunRecord("r", created=1.0))
        store.outages.seconds = 0.5
        store.outages.notice = waits.append
        server.stop("immediate")
        try:
            with pytest.raises(Unreachable, match=r"did not answer.*; results finished before"):
                store.add_result("r", CASE, Result(CASE.hash, "a", "s"))
            with pytest.raises(Unreachable):
                store.finish_run("r")
        finally:
            server.start()
    assert len(waits) == 1


def test_a_refusal_is_no_outage(server, url):
    wrong = url.replace(server.password, "wrong")
    with pytest.raises(StoreError) as caught:
        Store.open(wrong)
    assert not is_outage(caught.value.__cause__)
    missing = url.rpartition("/")[0] + "/no_such_database"
    with pytest.raises(StoreError) as caught:
        Store.open(missing)
    assert not is_outage(caught.value.__cause__)


def test_a_run_that_was_stored_although_the_answer_was_lost_begins_once(url, monkeypatch):
    with Store.open(url) as store:
        lost = StoreError("lost")
        lost.__cause__ = _disconnection(url)
        real = store._database.writing
        calls = 0

        def losing(statements: int = 2):
            nonlocal calls
            calls += 1
            return _Losing(real(statements), lost) if calls == 1 else real(statements)

        monkeypatch.setattr(store._database, "writing", losing)
        store.begin_run(RunRecord("r", created=1.0))
        assert calls == 2
        with pytest.raises(StoreError, match="already has a run r"):
            store.begin_run(RunRecord("r", created=1.0))


class _Losing:
    """A transaction that is committed, and whose answer never arrives."""

    def __init__(self, real, error) -> None:
        self._real, self._error = real, error

    def __enter__(self):
        return self._real.__enter__()

    def __exit__(self, *reason) -> None:
        self._real.__exit__(*reason)
        raise self._error


def _disconnection(url: str) -> BaseException | None:
    nobody = url.replace(url.rpartition("@")[2].partition("/")[0], "127.0.0.1:1")
    with pytest.raises(StoreError) as caught:
        Store.open(nobody)
    assert is_outage(caught.value.__cause__)
    return caught.value.__cause__


#: All but the first case wait until the server is down.
BENCH = """
import time
from pathlib import Path
import opbench as ob

DOWN = Path(__file__).with_name("down")

@ob.bench(n=list(range(4)))
def case(n):
    while n and not DOWN.exists():
        time.sleep(0.01)
"""


def test_a_run_whose_server_stays_away_says_how_to_continue(
    server, url, tmp_path, opbench_here, monkeypatch
):
    (tmp_path / "bench_few.py").write_text(BENCH)
    monkeypatch.setattr(database, "Outages", partial(Outages, seconds=0.5))

    def stop_in_the_middle() -> None:
        with Store.open(url) as store:
            while not store.results():
                time.sleep(0.02)
        server.stop("immediate")
        (tmp_path / "down").touch()

    thread = threading.Thread(target=stop_in_the_middle)
    with Store.open(url):
        pass
    thread.start()
    try:
        quick = ("--num-runs", "1", "--num-repeats", "1")
        done = opbench_here("run", "bench_few.py", *quick, "--store", url)
    finally:
        thread.join()
        server.start()
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert "did not answer" in last
    assert "Continue with: opbench run --cont --store " in last
    assert server.password not in done.stderr
    with Store.open(url, create=False) as store:
        before = len(store.results())
    assert before == 1
    done = opbench_here("run", "--cont", "--yes", "--store", url)
    assert done.returncode == 0, done.stderr
    with Store.open(url, create=False) as store:
        assert len(store.results()) == 4
        assert [run.status for run in store.runs()] == ["finished"]
