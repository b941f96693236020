"""How long the device works: the union of the intervals of its kernels and copies, from CUPTI.

Events around a loop of calls measure the launching thread as soon as it is slower than the device,
so they are used only where CUPTI is not available (no permission, another tool attached). The
calls are then queued behind a kernel that spins until the host has got ahead, with events around
them; every number comes with its source.
"""

import bisect
import sys
import time

from ..session import Unsupported
from . import cupti
from .intervals import union

CUPTI = "cupti kernel intervals"
EVENTS = "cuda events behind a spinning kernel"
#: Cycles per nanosecond of the fastest GPUs: the spinning kernel may be too long, never too short.
CYCLES_PER_NS = 2.0

_state: dict = {}


def busy_ns(session, n, before=None):
    """(nanoseconds in which anything ran on the device for `n` calls, source of that number).

    What `before()` launches, untimed before each call, is not counted.
    """
    try:
        return _recorded(_recorder(), session, n, before), CUPTI
    except cupti.Unavailable as error:
        torch = sys.modules.get("torch")
        if torch is None:
            raise Unsupported("without torch it needs CUPTI, which says: %s" % error) from None
        return _queued(torch, session, n, before), EVENTS


def _recorder():
    """The recorder of this child, once it has seen a kernel: silence must not read as no work."""
    if "recorder" not in _state:
        _state["recorder"] = recorder = cupti.Recorder()
        torch = sys.modules.get("torch")
        if torch is not None and not recorder.record(lambda: _one_kernel(torch)):
            _state["recorder"] = None
    if _state["recorder"] is None:
        raise cupti.Unavailable("CUPTI recorded nothing of a kernel that ran")
    return _state["recorder"]


def _one_kernel(torch):
    torch.cuda._sleep(1000)  # without a tensor, which the case would seem to have made
    torch.cuda.synchronize()


def _recorded(recorder, session, n, before):
    if before is None:
        found = recorder.record(lambda: session.run("stmt", n))
        return union((each.start, each.end) for each in found)
    begins, ends = [], []

    def calls():
        for _ in range(n):
            before()
            session.wait()
            begins.append(recorder.now())
            session.run("stmt", 1)
            ends.append(recorder.now())

    found = recorder.record(calls)

    def counts(moment):
        window = bisect.bisect_right(begins, moment) - 1
        return window >= 0 and moment <= ends[window]

    return union((each.start, each.end) for each in found if counts(each.start))


def _queued(torch, session, n, before):
    """Device time from events, with the device held back while the host launches."""
    if before is None:
        return _queued_ns(torch, session, n)
    total = 0
    for _ in range(n):
        before()
        total += _queued_ns(torch, session, 1, before)
    return total


def _queued_ns(torch, session, n, before=None):
    session.wait()
    began = time.perf_counter_ns()
    session.run("stmt", n)
    launching = time.perf_counter_ns() - began
    if before is not None:
        before()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(int(launching * CYCLES_PER_NS))
    first.record()
    session.run("stmt", n)
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last) * 1e6


#: In a child that was just resumed, driver, interpreter and caches are cold: the first calls of
#: launch-bound code took half as long again, and one untimed call did not help.
WAKE_SECONDS = 0.05
#: A child that worked this recently is still warm.
RECENTLY = 0.02
_last = {"worked": 0.0}


def wake(session):
    """Untimed calls until host and device run as they do in the middle of a program."""
    began = time.perf_counter()
    if began - _last["worked"] < RECENTLY:
        return
    while time.perf_counter() - began < WAKE_SECONDS:
        session.run("calls", 1)


def worked():
    _last["worked"] = time.perf_counter()


def release():
    """Free cached memory: a paused child must not hold what its neighbours need."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    worked()


class Flush:
    """Empties the L2 cache by writing four times its size."""

    def __init__(self, torch):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        size = 4 * (getattr(properties, "L2_cache_size", 0) or 64 << 20)
        self.buffer = torch.empty(size, dtype=torch.uint8, device="cuda")

    def __call__(self):
        self.buffer.zero_()
