"""Memory of one call of MXNet, from its profiler: the peak of what was held, in bytes.

The profiler keeps one counter per device, of bytes allocated less bytes freed since it was enabled,
and its trace has every value of it. (Its tables, and suites built on them, round to kB and call the
result an average.)
"""

import json
import os
import sys
import tempfile

from ..session import Unsupported

#: Lazily created state exists after this many calls.
SETTLING_CALLS = 2
COUNTER = "Memory: "


def measure(session):
    mxnet = sys.modules["mxnet"]
    session.run("calls", SETTLING_CALLS)
    mxnet.nd.waitall()
    device = "gpu" if session.case["device"].startswith("cuda") else "cpu/"
    levels = levels_of_a_call(session, mxnet, device)
    detail = {
        "source": "MXNet profiler, memory counter of the device",
        "components": {
            name: size_of(session.evaluate(expression))
            for name, expression in session.case.get("components") or ()
        },
    }
    return {"results": {"memory": {"samples": [largest_rise(levels)], "detail": detail}}}


def levels_of_a_call(session, mxnet, device):
    """Bytes held since the profiler was enabled, after each change; once per process."""
    profiler = mxnet.profiler
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        profiler.set_config(profile_memory=True, profile_imperative=False, filename=trace)
        profiler.set_state("run")
        session.run("before")
        mxnet.nd.waitall()
        session.run("stmt", 1)
        mxnet.nd.waitall()
        profiler.set_state("stop")
        profiler.dump(finished=True)
        with open(trace, encoding="utf-8") as stream:
            events = json.load(stream)["traceEvents"]
    counted = [
        event["args"][event["name"]]
        for event in events
        if event.get("ph") == "C" and event["name"].startswith(COUNTER + device)
    ]
    if not counted:
        raise Unsupported("MXNet's profiler saw no memory of this device")
    return [0, *counted]


def largest_rise(levels):
    lowest, rise = levels[0], 0
    for level in levels:
        lowest = min(lowest, level)
        rise = max(rise, level - lowest)
    return rise


def size_of(value):
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    size, dtype = getattr(value, "size", 0), getattr(value, "dtype", None)
    return int(size) * sys.modules["numpy"].dtype(dtype).itemsize if size and dtype else 0
