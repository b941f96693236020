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
from .lines import Lines

#: Lazily created state exists after this many calls.
SETTLING_CALLS = 2
COUNTER = "Memory: "


def measure(session):
    mxnet = sys.modules["mxnet"]
    session.loop.close()
    case = Lines(session)
    case.run(case.setup)
    for _ in range(SETTLING_CALLS):
        case.call()
    device = "gpu" if session.case["device"].startswith("cuda") else "cpu/"
    levels = levels_of_a_call(case, mxnet, device)
    # A gradient lives in a buffer that was there before the call.
    gradients = gradient_bytes(case, mxnet) if any(x.goes_backward for x in case.statement) else 0
    detail = {
        "source": "MXNet profiler, memory counter of the device",
        "components": {
            name: size_of(case.evaluate(expression))
            for name, expression in session.case.get("components") or ()
        },
    }
    peak = largest_rise(levels) + gradients
    return {"results": {"memory": {"samples": [peak], "detail": detail}}}


def gradient_bytes(case, mxnet):
    """Of every array and block whose gradient the call writes."""
    seen = {}
    for value in case.names.values():
        if isinstance(value, mxnet.gluon.Block):
            held = [p.data() for p in value.collect_params().values() if p.grad_req != "null"]
        else:
            held = [value] if isinstance(value, mxnet.nd.NDArray) else []
        seen.update({id(array): size_of(array.grad) for array in held if array.grad is not None})
    return sum(seen.values())


def levels_of_a_call(case, mxnet, device):
    """Bytes held since the profiler was enabled, after each change; once per process."""
    profiler = mxnet.profiler
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        profiler.set_config(profile_memory=True, profile_imperative=False, filename=trace)
        profiler.set_state("run")
        case.release()
        case.run(case.before)
        mxnet.nd.waitall()
        case.run(case.statement)
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
