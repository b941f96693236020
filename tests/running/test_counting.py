"""The part of a run that counts instructions."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from opbench.case import Case
from opbench.plan.groups import PlannedGroup, Slot
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Metric
from opbench.running import counting
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.workers.process import WorkerDied

pytestmark = pytest.mark.valgrind


class Recorder(Listener):
    def __init__(self) -> None:
        self.said: list[str] = []

    def starting_workers(self, what: str) -> None:
        self.said.append(f"start {what}")

    def measured(self, case, result) -> None:
        if result.metric == "instructions":
            self.said.append(f"{case.name} {result.outcome}")


@pytest.mark.slow
def test_workers_of_all_kinds_start_before_the_first_one_counts():
    """Importing a framework under Valgrind takes longer than counting: do it side by side."""
    cases = [
        Case("t", name, "call", "x + 1", "x = 1", preload=(name,)) for name in ("json", "decimal")
    ]
    listener = Recorder()
    request = Request(
        tuple(PlannedGroup((case,)) for case in cases), Adaptive(), ("instructions",), pool=False
    )
    Runner(request, lambda *_: None, listener).run()
    assert set(listener.said[:2]) == {"start json", "start decimal"}
    assert listener.said[2:] == ["json ok", "decimal ok"]


class Endless:
    """A pool whose first worker counts nothing, at once, and whose others count until closed."""

    def __init__(self) -> None:
        self.lock, self.live = threading.Lock(), []

    def has(self, *_about) -> bool:
        return True

    def workers(self, _kind, starts) -> list:
        """As the real one: registered at once, so that `discard` finds it."""
        closed = threading.Event()
        with self.lock:
            self.live.append(closed)
        session = SimpleNamespace(
            prepare=lambda *_: None,
            measure=lambda *_: {} if starts == [0] else died(closed),
        )
        return [SimpleNamespace(pid=0, open=lambda **_: session, reap=lambda _: None)]

    def discard(self, _kind) -> None:
        with self.lock:
            for closed in self.live:
                closed.set()
            self.live.clear()


def died(closed: threading.Event) -> dict:
    closed.wait()
    raise WorkerDied("ended")


def test_an_interrupt_ends_a_count_that_is_just_being_tried_again(monkeypatch):
    """Its worker is ended, and must not be taken for one that died and deserves another."""
    pool = Endless()

    def interrupted(_cases) -> None:
        raise KeyboardInterrupt

    state = SimpleNamespace(
        pool=pool, metrics=(), workers=pool.workers, memory_limit=lambda _: 0,
        latest=lambda *_: None,
        listener=SimpleNamespace(measuring=interrupted, counting=lambda *_: None),
        request=SimpleNamespace(policy=Adaptive(), number=None, repeats=None),
    )  # fmt: skip
    monkeypatch.setattr(counting, "read_symbols", lambda _: None)
    slots = [Slot(Case("t", name, "call", "pass"), None) for name in "ab"]
    kind = SimpleNamespace(preload=())

    def count() -> None:
        with pytest.raises(KeyboardInterrupt):
            counting._count_kind(state, Metric("instructions", "", ""), kind, slots, 2)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the second case is counted for ever"


FILE = """
from opbench.snippets import TimerArgs
BENCHMARKS = {"add": TimerArgs("x + 1", "x = 1")}
"""


def test_without_valgrind_neither_a_run_nor_a_gate_succeeds(opbench_here, tmp_path, monkeypatch):
    """Nothing measured is no success: a workflow that lacks Valgrind must fail."""
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.setenv("OPBENCH_VALGRIND", str(tmp_path / "nothing"))
    counted = ("run", "mine.py", "--metric", "instructions")
    for _ in range(2):
        done = opbench_here(*counted)
        assert done.returncode == 3, done.stderr
        assert "instructions: nothing measured" in done.stdout + done.stderr
    gate = ("compare", "last~1", "last", "--fail-on", "slower:1%")
    judged = opbench_here(*gate)
    assert judged.returncode == 3, judged.stderr
    assert "not measured" in judged.stdout + judged.stderr
