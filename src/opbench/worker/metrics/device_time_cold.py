"""How long the device works for one call when its L2 cache is cold.

Before each call the cache is overwritten, which is not counted. What a call costs in a real program
is between this and `device_time`.
"""

from ..cuda import device_work
from .device_time import measured, torch_with_cuda

DESCRIBE = {
    "unit": "s",
    "description": "time the device works for one call, its L2 cache flushed before each",
    "sampled": True,
    "device": "cuda",
    "measured_with": "host_time",
}

#: Each call costs a flush of some 100 µs; a block needs no more calls than this.
MAX_CALLS = 20

_flush: dict = {}


def block(session, n):
    torch = torch_with_cuda(session, "device_time_cold")
    if not _flush:
        _flush["flush"] = device_work.Flush(torch)

    def before():
        session.run("before")
        _flush["flush"]()

    return measured(session, min(n, MAX_CALLS), before)
