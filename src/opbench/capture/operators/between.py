"""The time between calls: Python, autograd, and what the framework does there.

It is measured in the recorded steps, where each call is seen to begin and to end. A recorded call
also costs time outside of what we see of it, on its way into Python and back; that is measured on a
call that does next to nothing, and subtracted.
"""

from __future__ import annotations

from time import thread_time
from typing import Any

import torch

from opbench.capture.api.function_names import FunctionNames
from opbench.capture.operators.log import OperatorLog
from opbench.capture.operators.mode import OperatorMode
from opbench.capture.operators.phases import Phases, Seen

#: Enough for a median that one interruption does not move; a few milliseconds in all.
CALLS = 40
ROUNDS = 5


def nothing() -> None:
    """No step ends here."""


def cost_of_being_seen(from_python: bool) -> float:
    """Seconds per recorded call, outside of what is seen of it: called from Python, by a function
    whose name is recorded; or by autograd."""
    phases = Phases(nothing, nothing)
    mode, names = OperatorMode(OperatorLog(), phases), FunctionNames(phases)
    x, found = torch.zeros(1), []
    operator: Any = torch.neg if from_python else torch.ops.aten.neg.default
    with torch.no_grad(), mode:
        if from_python:
            names.__enter__()
        try:
            for _ in range(ROUNDS):
                phases.restart()
                began = thread_time()
                for _ in range(CALLS):
                    operator(x)
                outside = thread_time() - began - phases.handled_busy.get("data", 0.0)
                found.append(outside / CALLS)
        finally:
            if from_python:
                names.__exit__(None, None, None)
    return sorted(found)[ROUNDS // 2]


def between(seen: Seen) -> dict[str, float]:
    """Phase → seconds of one recorded step between its calls. By the CPU time of the program's own
    thread where that made all the calls: while it waits, or another program has its core, nothing
    is executed between them."""
    costs = {from_python: cost_of_being_seen(from_python) for from_python in (False, True)}
    found = {}
    for phase, wall in seen.seconds.items():
        waited = seen.waiting if phase == "data" else 0.0
        outside = wall - waited - seen.handled.get(phase, 0.0)
        if phase not in seen.elsewhere:
            busy = seen.busy.get(phase, 0.0) - seen.handled_busy.get(phase, 0.0)
            outside = min(outside, busy)
        cost = seen.calls.get(phase, 0) * costs[phase != "backward"]
        found[phase] = max(0.0, outside - cost)
    return found
