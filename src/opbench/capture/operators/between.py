"""The time between calls: Python, autograd, and what the framework does there.

It is measured in the recorded steps, where each call is seen to begin and to end. A recorded call,
and a function whose name is looked up, also cost time outside of what we see of them, on their way
into Python and back; that is measured on ones that do next to nothing, and subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
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


def cost_of_being_seen(operator: Callable[[torch.Tensor], Any], names: bool) -> float:
    """CPU seconds per call of an operator, or of a function whose name is looked up, outside of
    what is seen of it."""
    phases = Phases(nothing, nothing)
    mode = FunctionNames(phases) if names else OperatorMode(OperatorLog(), phases)
    x, found = torch.zeros(1), []
    with torch.no_grad(), mode:
        for _ in range(ROUNDS):
            phases.restart()
            began = thread_time()
            for _ in range(CALLS):
                operator(x)
            whole = thread_time() - began
            outside = whole - phases.seen().handled_busy["data"]
            found.append(outside / CALLS)
    return sorted(found)[ROUNDS // 2]


def between(seen: Seen) -> dict[str, float]:
    """Phase → seconds of one recorded step between its calls. By the CPU time of the program's own
    thread where that made all the calls: while it waits, or another program has its core, nothing
    is executed between them."""
    call = cost_of_being_seen(torch.ops.aten.neg.default, names=False)
    function = cost_of_being_seen(torch.Tensor.dim, names=True)
    found = {}
    for phase, wall in seen.seconds.items():
        outside = wall - seen.handled.get(phase, 0.0)
        if phase not in seen.elsewhere:
            # What a data loader does to hand over a batch is not waiting: it runs.
            outside = min(outside, seen.busy.get(phase, 0.0) - seen.handled_busy.get(phase, 0.0))
        elif phase == "data":
            outside -= seen.waiting
        cost = seen.calls.get(phase, 0) * call + seen.functions.get(phase, 0) * function
        found[phase] = max(0.0, outside - cost)
    return found
