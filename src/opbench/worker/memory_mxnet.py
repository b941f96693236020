"""Memory of one call of MXNet, from its profiler: the most that was held at once, in bytes.

The profiler keeps one counter per device, of bytes asked for and given back since it was switched
on, and remembers its maximum. (Its own tables, and suites built on them, show the average in kB.)
"""

import json
import sys

from .session import Unsupported

#: Lazily made state is there after this many calls.
SETTLING_CALLS = 2
REPEATS = 2
#: The profiler reports in thousands of bytes.
UNIT = 1000


def measure(session):
    mxnet = sys.modules["mxnet"]
    session.run("calls", SETTLING_CALLS)
    mxnet.nd.waitall()
    peaks = [peak_of_a_call(session, mxnet) for _ in range(REPEATS)]
    detail = {
        "source": "MXNet profiler, memory counter of the device",
        "components": {
            name: size_of(session.evaluate(expression))
            for name, expression in session.case.get("components") or ()
        },
    }
    return {"results": {"memory": {"samples": peaks, "detail": detail}}}


def peak_of_a_call(session, mxnet):
    profiler = mxnet.profiler
    profiler.set_config(
        profile_memory=True, profile_imperative=False, aggregate_stats=True, filename="/dev/null"
    )
    profiler.set_state("run")
    try:
        session.run("calls", 1)
        mxnet.nd.waitall()
    finally:
        profiler.set_state("stop")
    told = json.loads(profiler.dumps(reset=True, format="json"))
    counters = told.get("Memory") or {}
    device = "gpu" if session.case["device"].startswith("cuda") else "cpu/"
    found = [one["Max"] for name, one in counters.items() if device in name]
    if not found:
        raise Unsupported("MXNet's profiler saw no memory of this device")
    return round(max(found) * UNIT)


def size_of(value):
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    size, dtype = getattr(value, "size", 0), getattr(value, "dtype", None)
    return int(size) * sys.modules["numpy"].dtype(dtype).itemsize if size and dtype else 0
