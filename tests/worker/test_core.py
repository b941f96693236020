"""A core that nobody shares: found, waited for, and held against the quickest that was seen."""

import os
import random

import pytest

from opbench.worker import core
from opbench.worker.core import Cores
from opbench.worker.session import Session

ALONE, SHARED = 1000, 1700


class Machine:
    """CPUs with a pace each, which may change while somebody waits."""

    def __init__(self, paces):
        self.paces = dict(paces)
        self.cpu = min(paces)
        self.now = 0
        self.slept = 0
        self.later = {}

    def pace(self):
        self.now += self.paces[self.cpu]
        return self.paces[self.cpu]

    def settle(self, cpu):
        self.cpu = cpu

    def sleep(self, seconds):
        self.slept += 1
        self.now += int(seconds * 1e9)
        if self.later:
            self.paces.update(self.later)

    def cores(self, quickest=ALONE):
        return Cores(quickest, self.pace, self.settle, lambda: self.now, self.sleep)


def test_it_stays_where_nobody_else_is():
    machine = Machine({0: ALONE, 1: ALONE})
    assert machine.cores().seek([1, 0], 0)
    assert (machine.cpu, machine.slept) == (1, 0)


def test_it_moves_away_from_a_shared_core():
    machine = Machine({0: ALONE, 1: SHARED})
    assert machine.cores().seek([1, 0], 0)
    assert machine.cpu == 0


def test_it_waits_until_a_core_is_free():
    machine = Machine({0: SHARED, 1: SHARED})
    machine.later = {1: ALONE}
    assert machine.cores().seek([0, 1], 10**9)
    assert (machine.cpu, machine.slept) == (1, 1)


def test_its_patience_ends_on_the_quickest():
    machine = Machine({0: 2 * SHARED, 1: SHARED, 2: 3 * SHARED})
    began = machine.now
    assert not machine.cores().seek([0, 1, 2], 20_000_000)
    assert machine.cpu == 1
    assert 20_000_000 <= machine.now - began < 40_000_000


def test_without_patience_it_does_not_wait():
    machine = Machine({0: SHARED, 1: SHARED})
    assert not machine.cores().seek([0, 1], 0)
    assert machine.slept == 0


def test_a_clock_that_goes_down_with_the_temperature_is_no_neighbour():
    machine = Machine({0: int(1.15 * ALONE)})
    assert machine.cores().seek([0], 0)


def test_what_is_not_known_yet_is_what_was_seen():
    machine = Machine({0: SHARED, 1: ALONE})
    cores = machine.cores(quickest=0)
    cores.seek([0, 1], 0)  # it cannot know that the first is shared
    assert machine.cpu == 0
    assert cores.seen == SHARED
    machine.settle(1)
    assert cores.still_alone()
    assert cores.seen == ALONE
    assert not cores.seek([0], 0)


def test_a_core_that_recovers_from_the_block_is_not_shared():
    machine = Machine({0: SHARED})
    cores, paces = machine.cores(), iter([SHARED] * 20 + [ALONE] * 1000)
    cores._pace = lambda: _spend(machine, next(paces))
    assert cores.still_alone()


def test_a_neighbour_who_stays_is_seen():
    machine = Machine({0: SHARED})
    assert not machine.cores().still_alone()
    assert core.RECOVERY_NS <= machine.now < 2 * core.RECOVERY_NS


def _spend(machine, taken):
    machine.now += taken
    return taken


def test_the_order_begins_with_the_one_asked_for_or_the_current_one():
    allowed = os.sched_getaffinity(0)
    for first in allowed:
        assert core.in_order(first)[0] == first
        assert set(core.in_order(first)) == allowed
    assert core.current() in allowed


def test_where_a_sandbox_refuses_to_move_it_stays(monkeypatch):
    def refuse(_pid, _cpus):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    for cpu in os.sched_getaffinity(0):
        core.settle_on(cpu)
    assert Cores(0).seek(core.in_order(), 0) in (True, False)


def test_a_system_that_does_not_say_where_a_thread_runs(monkeypatch, tmp_path):
    monkeypatch.setattr("builtins.open", lambda *_: (tmp_path / "missing").open())
    assert core.current() == -1
    assert set(core.in_order()) == os.sched_getaffinity(0)


class Metric:
    """A millisecond for each block; after each the core is shared or not."""

    DESCRIBE = {"name": "time"}  # noqa: RUF012

    def __init__(self, machine, shared_after):
        self.machine, self.shared_after, self.blocks = machine, shared_after, 0

    def block(self, session, n):
        self.machine.now += 1_000_000
        self.machine.paces[0] = SHARED if self.shared_after[self.blocks] else ALONE
        self.blocks += 1
        return {"value": 1e-3, "n": n, "wall_ns": 1_000_000}


@pytest.mark.parametrize(
    ("patience", "shared_after", "blocks", "shared"),
    [
        (0, [False], 1, False),
        (0, [True], 1, True),
        (10**8, [True, False], 2, False),
        (10**8, [True, True, False], 3, False),
        (8 * 10**6, [True] * 9, 2, True),
    ],
)
def test_a_block_whose_core_was_shared_meanwhile_is_taken_again(
    monkeypatch, patience, shared_after, blocks, shared
):
    machine = Machine({0: ALONE})
    machine.later = {0: ALONE}
    metric = Metric(machine, shared_after)
    monkeypatch.setattr(Session, "_metric", lambda self, name: metric)
    monkeypatch.setattr(Session, "wake", lambda self, n: None)
    monkeypatch.setattr(core.time, "perf_counter_ns", lambda: machine.now)
    monkeypatch.setattr(core, "in_order", lambda first=None: [0])
    monkeypatch.setattr(core, "Cores", lambda quickest: machine.cores(quickest))
    session = Session()
    session.case = {"threads": 1}
    asked = {"metric": "time", "n": 10, "quickest": ALONE, "patience": patience}
    answer = session.do_block(asked)
    assert metric.blocks == blocks
    assert answer["shared"] is shared
    assert answer["waited_ns"] <= patience + 100_000  # a look takes 3 µs of that clock
    assert answer["quickest"] == ALONE


@pytest.mark.parametrize(
    ("threads", "describe"), [(2, {"name": "time"}), (1, {"name": "x", "device": "cuda"})]
)
def test_where_one_core_does_not_decide_none_is_looked_for(monkeypatch, threads, describe):
    machine = Machine({0: SHARED})
    metric = Metric(machine, [True])
    monkeypatch.setattr(metric, "DESCRIBE", describe, raising=False)
    monkeypatch.setattr(Session, "_metric", lambda self, name: metric)
    monkeypatch.setattr(Session, "wake", lambda self, n: None)
    session = Session()
    session.case = {"threads": threads}
    answer = session.do_block({"metric": "time", "n": 10, "quickest": ALONE, "patience": 10**9})
    assert metric.blocks == 1
    assert "shared" not in answer


def test_the_random_numbers_of_the_code_under_test_stay_as_they_are():
    random.seed(3)
    before = random.getstate()
    for _ in range(5):
        core.in_order()
    assert random.getstate() == before


@pytest.mark.parametrize("rounds", [400, 4000])
def test_the_loop_takes_as_long_as_it_has_rounds(rounds):
    best = min(core.pace(rounds) for _ in range(200))
    more = min(core.pace(4 * rounds) for _ in range(200))
    assert 2 < more / best < 8
