"""What is subtracted from a block before it is a time: the empty loop, or the other statement."""

from __future__ import annotations

import os
import resource
from typing import ClassVar

import pytest

from opbench.worker import session as worker_session
from opbench.worker.metrics import host_time, time
from opbench.worker.session import Session


class Loop:
    """The loop of a case, whose clock always shows the same nanoseconds per call."""

    def __init__(self, **each: int) -> None:
        self.each, self.asked = each, []

    def send(self, message):
        what, n = message
        self.asked.append(message)
        return self.each.get(what, 0) * n


def session(way: str, **each: int) -> Session:
    made = Session()
    made.case = {"way": way, "device": "cpu"}
    made.loop = Loop(**each)
    return made


@pytest.mark.parametrize("metric", [time, host_time])
@pytest.mark.parametrize("way", ["repeatable", "each", "prebuilt"])
def test_the_empty_loop_is_subtracted(metric, way):
    made = session(way, time=1000, empty=90)
    assert metric.block(made, 20)["value"] == pytest.approx(910e-9)
    # Where it is a good part of the block it is measured with each of them.
    made.loop.each["empty"] = 40
    assert metric.block(made, 20)["value"] == pytest.approx(960e-9)


def test_an_interrupted_empty_loop_makes_no_block_shorter():
    made = session("repeatable", time=1000, empty=90)
    assert time.block(made, 20)["value"] == pytest.approx(910e-9)
    empty = iter([5000, 95, 300, 280])  # one that was held up; then a clock that became slower

    class Held(dict):
        def get(self, what, default):
            return next(empty) if what == "empty" else super().get(what, default)

    made.loop.each = Held(made.loop.each)
    assert time.block(made, 20)["value"] == pytest.approx(905e-9)
    assert time.block(made, 20)["value"] == pytest.approx(720e-9)


def test_an_empty_loop_that_hardly_matters_is_measured_once_per_block_size():
    made = session("repeatable", time=1000, empty=1)
    for n in (20, 20, 50, 20):
        assert time.block(made, n)["value"] == pytest.approx(999e-9)
    assert [n for what, n in made.loop.asked if what == "empty"] == [20, 20, 20, 50, 50, 50]


def test_a_difference_is_what_the_second_statement_leaves():
    made = session("difference", time=1000, minus=300, empty=90)
    assert time.block(made, 20)["value"] == pytest.approx(700e-9)
    assert "empty" not in [what for what, _ in made.loop.asked], "both loops have it"


class Fetching:
    """A metric whose blocks fetch so many pages each."""

    DESCRIBE: ClassVar[dict] = {}

    def __init__(self, *pages: int, wall_ns: int = 2_000_000) -> None:
        self.pages, self.blocks, self.fetched = [*pages], 0, 0
        self.wall_ns = wall_ns

    def block(self, _session, n):
        self.fetched += self.pages[min(self.blocks, len(self.pages) - 1)]
        self.blocks += 1
        return {"value": 1e-3, "n": n, "wall_ns": self.wall_ns}


@pytest.mark.parametrize(
    ("pages", "blocks"),
    [
        ((1024, 1024, 500, 3), 4),  # malloc has found a place after three
        ((100, 0), 1),  # 50 µs of 2 ms do not matter
        ((1024,), 51),  # always: its result is mapped
    ],
)
def test_blocks_that_fetch_memory_are_taken_again_for_a_while(monkeypatch, pages, blocks):
    metric, made = Fetching(*pages), session("repeatable")
    monkeypatch.setattr(made, "_metric", lambda _name: metric)
    monkeypatch.setattr(worker_session, "pages_fetched", lambda: metric.fetched)
    answer = made.do_block({"metric": "time", "n": 2, "refill": 0.0})
    assert (metric.blocks, answer["pages"]) == (blocks, pages[-1] if blocks > 1 else pages[0])
    # Who counts calls gets every block; a child that had its time takes none again.
    made.do_block({"metric": "time", "n": 2})
    assert metric.blocks == blocks + 1
    made.do_block({"metric": "time", "n": 2, "refill": 0.0})
    assert metric.blocks == blocks + 2


def test_a_block_that_takes_longer_than_all_of_that_is_not_taken_again(monkeypatch):
    metric, made = Fetching(1_000_000, wall_ns=5_000_000_000), session("repeatable")
    monkeypatch.setattr(made, "_metric", lambda _name: metric)
    monkeypatch.setattr(worker_session, "pages_fetched", lambda: metric.fetched)
    made.do_block({"metric": "time", "n": 1, "refill": 0.0})
    assert metric.blocks == 1


def test_a_call_that_fetches_more_than_malloc_keeps_is_not_taken_again(monkeypatch):
    pages = 192 * 2**20 // resource.getpagesize()  # as `add` at 4096x4096 with its gradients
    metric, made = Fetching(pages * 2, wall_ns=90_000_000), session("repeatable")
    monkeypatch.setattr(made, "_metric", lambda _name: metric)
    monkeypatch.setattr(worker_session, "pages_fetched", lambda: metric.fetched)
    made.do_block({"metric": "time", "n": 1, "refill": 0.0})
    assert metric.blocks == 1
    # The same pages in a block of ten calls, which malloc may have found a place for by the next.
    made.do_block({"metric": "time", "n": 10, "refill": 0.0})
    assert metric.blocks == 3


@pytest.mark.parametrize(
    ("per_call", "n", "refill", "untimed"),
    [
        (600e-6, 3, 1.0, 12),  # ten calls fill the caches again
        (600e-6, 3, 0.0, 12),
        (5e-3, 1, 1.0, 4),  # as many as fit into 20 ms
        (30e-3, 1, 1.0, 1),
        (2e-6, 1000, 1.0, 1000),  # as many as are timed,
        (2e-6, 1000, 0.0, 12),  # unless they are compared with others in the same turns
        (600e-6, 3, None, 1),
    ],
)
def test_a_block_begins_with_calls_that_fill_the_caches_again(
    monkeypatch, per_call, n, refill, untimed
):
    metric, made = Fetching(0, wall_ns=int(n * per_call * 1e9)), session("repeatable")
    monkeypatch.setattr(made, "_metric", lambda _name: metric)
    given = {"metric": "time", "n": n, **({} if refill is None else {"refill": refill})}
    made.do_block(given)  # shows what a call takes
    made.loop.asked.clear()
    made.do_block(given)
    assert sum(count for what, count in made.loop.asked if what == "calls") == untimed


def test_a_long_block_begins_at_once(monkeypatch):
    metric, made = Fetching(0, wall_ns=80_000_000), session("repeatable")
    monkeypatch.setattr(made, "_metric", lambda _name: metric)
    given = {"metric": "time", "n": 1, "refill": 1.0, "long": 0.05}
    made.do_block(given)
    made.loop.asked.clear()
    made.do_block(given)
    assert made.loop.asked == []


def test_a_thread_settles_on_a_cpu_and_stays_free():
    from opbench.worker.core import settle_on

    before = os.sched_getaffinity(0)

    def settled(cpu: int) -> bool:
        settle_on(cpu)
        with open("/proc/thread-self/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[36]) == cpu

    for cpu in before:
        # On a loaded machine it may be moved away before it looks.
        assert any(settled(cpu) for _ in range(100))
    settle_on(max(before) + 1)  # not ours: stay
    assert os.sched_getaffinity(0) == before
