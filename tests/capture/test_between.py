"""Time between calls, from what one step showed."""

from __future__ import annotations

import threading
import time

import pytest
from tests.late import Late, needs

needs("torch")
module = Late("opbench.capture.operators.between")
phase = Late("opbench.capture.operators.phases")
COST = "opbench.capture.operators.between.cost_of_being_seen"


@pytest.fixture(autouse=True)
def known_cost(monkeypatch):
    monkeypatch.setattr(COST, lambda _operator, names: 0.5 if names else 0.25)


def seen(**other):
    step = {
        "seconds": {"forward": 10.0}, "busy": {"forward": 7.0}, "handled": {"forward": 4.0},
        "handled_busy": {"forward": 3.0}, "calls": {"forward": 2}, "functions": {"forward": 1},
        "elsewhere": frozenset(),
        "waiting": 0.0,
    }  # fmt: skip
    return phase.Seen(**{**step, **other})


def test_only_what_the_thread_executed_counts():
    """Ten seconds, of which it ran seven; of those, three in calls; two calls cost 0.25 each, and a
    function 0.5."""
    assert module.between(seen()) == {"forward": 3.0}
    assert seen().idle("forward") == 3.0


def test_where_another_thread_made_calls_the_wall_clock_has_to_do():
    elsewhere = seen(elsewhere=frozenset({"forward"}))
    assert module.between(elsewhere) == {"forward": 5.0}
    assert elsewhere.idle("forward") == 0.0


def test_a_wait_for_a_data_loader_is_not_between_calls_but_its_hand_over_is():
    """Of ten seconds it ran two, one of them in calls; eight it was in the loader's hands, who
    executed for three of these in another step: to unpickle is no waiting."""

    def data(busy: float, **more):
        return seen(seconds={"data": 10.0}, busy={"data": busy}, handled={"data": 1.0},
                    handled_busy={"data": 1.0}, calls={}, functions={}, waiting=8.0,
                    **more)  # fmt: skip

    assert module.between(data(2.0)) == {"data": 1.0}
    assert module.between(data(5.0)) == {"data": 4.0}
    assert module.between(data(5.0, elsewhere=frozenset({"data"}))) == {"data": 1.0}


def test_a_step_knows_when_its_thread_slept_and_who_made_its_calls():
    phases = phase.Phases(lambda: None, lambda: None)
    phases.restart()
    time.sleep(0.05)
    phases.enter("forward")
    found = phases.seen()
    assert found.idle("data") > 0.04
    assert found.seconds["data"] >= found.idle("data")
    phases.handle("forward", 1.0, 1.0)
    assert not phases.seen().elsewhere
    other = threading.Thread(target=phases.handle, args=("forward", 1.0, 1.0))
    other.start()
    other.join()
    assert phases.seen().elsewhere == {"forward"}
    assert phases.seen().calls == {"forward": 2}


def test_functions_that_lead_to_no_call_are_known():
    """An optimizer asks for hundreds of attributes."""
    torch = pytest.importorskip("torch")
    from opbench.capture.api.function_names import FunctionNames

    phases = phase.Phases(lambda: None, lambda: None)
    x = torch.zeros(2)
    with FunctionNames(phases):
        for _ in range(10):
            x.dim()
    found = phases.seen()
    assert (found.calls, found.functions) == ({}, {"data": 10})
    assert found.handled_busy["data"] > 0
