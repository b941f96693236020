"""How long the device works for one call when its L2 cache is cold.

Before each call the cache is overwritten, on a stream whose kernels are not counted. What a call
costs in a real program is between this and `device_time`.
"""

import time

from ..cuda import device_work, nvml
from ..watch import Watch
from .device_time import enough, measured, torch_with_cuda

DESCRIBE = {
    "name": "device_time_cold",
    "unit": "s",
    "description": "time the device works for one call, its L2 cache flushed before each",
    "sampled": True,
    "measured_with": "host_time",
}

#: Each call costs a flush of some 100 µs; a block needs no more calls than this.
MAX_CALLS = 20

_flush: dict = {}


def block(session, n):
    torch = torch_with_cuda(session, "device_time_cold")
    device_work.wake(session)
    began = time.perf_counter()
    session.run("calls", 1)
    n = enough(min(n, MAX_CALLS), time.perf_counter() - began)
    if not _flush:
        _flush["flush"] = device_work.Flush(torch)
        _flush["stream"] = _flush["flush"].own_stream()
    flush, stream = _flush["flush"], _flush["stream"]

    def calls():
        for _ in range(n):
            flush()
            session.run("stmt", 1)

    with Watch() as watch:
        busy = None
        if session.case["way"] == "repeatable" and stream is not None:
            busy = device_work.busy_ns(torch, calls, skip_stream=stream)
        if busy is not None:
            total, source = busy, device_work.CUPTI
        else:
            total, source = 0, ""
            for _ in range(n):
                session.run("before")
                flush()
                spent, source = measured(torch, lambda: session.run("stmt", 1))
                total += spent
    gpu = {"source": source, **nvml.readings()}
    device_work.release(torch)
    return watch.sample(total / n / 1e9, n, gpu)
