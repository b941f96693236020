"""The part of a run that counts instructions."""

from __future__ import annotations

import pytest

from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.runner import Runner

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
