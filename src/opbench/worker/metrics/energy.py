"""Energy of one call, from the energy counter of the GPU.

The counter moves in steps, and counts what the whole card draws, idle or not: calls are repeated
from one step to another, for long enough that one step is a small part.
"""

import time

from ..cuda import device_work, nvml
from ..session import Unsupported
from ..watch import Watch
from .device_time import check_cuda

DESCRIBE = {
    "unit": "J",
    "description": "energy the whole GPU draws during one call, from its energy counter",
    "sampled": True,
    "device": "cuda",
}

#: A block begins and ends with a step of the counter, and lasts at least this long.
BLOCK_SECONDS = 0.4
#: A counter that has not moved for this long does not count.
LONGEST_STEP = 1.0


def block(session, n):
    check_cuda(session, "energy")
    if nvml.energy() is None:
        raise Unsupported("this GPU has no energy counter that NVML can read")
    if session.case["way"] != "repeatable":
        raise Unsupported("the counter would also see the preparation of this stage")
    device_work.wake(session)
    first, began, _ = at_a_step(session, n)
    calls = 0
    with Watch(session.case.get("threads")) as watch:
        while time.perf_counter() - began < BLOCK_SECONDS:
            session.run("stmt", n)
            calls += n
        last, ended, more = at_a_step(session, n)
    calls += more
    seen = {**nvml.readings(), "joules": last - first, "seconds": ended - began}
    device_work.release()
    return watch.sample((last - first) / calls, calls, seen)


def at_a_step(session, n):
    """(joules, moment, calls) when the counter moves, the device kept at work until then."""
    first = nvml.energy()
    began, calls = time.perf_counter(), 0
    while True:
        session.run("stmt", n)
        calls += n
        now = nvml.energy()
        moment = time.perf_counter()
        if now != first:
            return now, moment, calls
        if moment - began > LONGEST_STEP:
            raise Unsupported("the energy counter of this GPU did not move for a second")
