"""The kernels of one call, from the framework's own profiler: torch's, or ONNX Runtime's.

The value is how often kernels run in one call, which repeats exactly. The detail has, for each of
them, name, calls and time. A profiler slows down what it watches, so its times say how the time of
a call is shared out, not how long the call takes: that is what `time` is for.
"""

import bisect
import json
import os
import shutil
import sys

from ..session import Unsupported

DESCRIBE = {
    "unit": "count",
    "description": "kernels run by one call; name, calls and time of each in the detail",
    "sampled": False,
}

#: Profiled for about this long: enough calls for a mean, while the trace stays small.
SECONDS = 0.3
MAX_CALLS = 100
MIN_CALLS = 3
#: The range around each statement; preparation in between is not counted.
RANGE = "opbench::call"


def measure(session, options):
    session.run("calls", 2)
    session.run("before")
    took = max(session.timed("time", 1) / 1e9, 1e-9)
    calls = int(options.get("calls") or min(max(SECONDS / took, MIN_CALLS), MAX_CALLS))
    if session.case.get("runtime") == "onnxruntime":
        source, found = "onnxruntime", from_onnxruntime(session, calls)
    elif "torch" in sys.modules and session.case.get("language") == "python":
        source, found = "torch.profiler", from_torch(session, calls)
    else:
        raise Unsupported(
            "kernels are counted by torch's or ONNX Runtime's profiler; this case uses neither"
        )
    total = sum(count for count, _ in found.values())
    kernels = [
        {
            "name": name,
            "device": device,
            "calls": count / calls,
            "total": nanoseconds / calls / 1e9,
            "mean": nanoseconds / count / 1e9,
        }
        for (device, name), (count, nanoseconds) in sorted(
            found.items(), key=lambda item: -item[1][1]
        )
    ]
    detail = {"source": source, "calls": calls, "kernels": kernels}
    return {"results": {"kernels": {"samples": [total / calls], "detail": detail}}}


def add(found, device, name, nanoseconds):
    count, spent = found.get((device, name), (0, 0.0))
    found[device, name] = (count + 1, spent + nanoseconds)


def from_torch(session, calls):
    """Own time of every operator on the CPU, and of every kernel on the GPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    on_cuda = session.case["device"].startswith("cuda")
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if on_cuda else [])
    with profile(activities=activities, acc_events=True) as profiler:
        for _ in range(calls):
            session.run("before")
            if on_cuda:
                torch.cuda.synchronize()
            with record_function(RANGE):
                session.run("stmt", 1)
    events = profiler.events()
    host = torch.autograd.DeviceType.CPU
    ranges = sorted(
        (event.time_range.start, event.time_range.end)
        for event in events
        if event.name == RANGE and event.device_type == host
    )
    starts = [start for start, _ in ranges]
    found: dict = {}
    for event in events:
        if event.name == RANGE:
            continue
        place = bisect.bisect_right(starts, event.time_range.start) - 1
        if place < 0 or event.time_range.start > ranges[place][1]:
            continue
        if event.device_type == host:
            add(found, "cpu", event.name, event.self_cpu_time_total * 1e3)
        else:
            add(found, "cuda", event.name, event.time_range.elapsed_us() * 1e3)
    return found


def from_onnxruntime(session, calls):
    """What ONNX Runtime's profiler says of each node, added up by operator.

    It can only be enabled when a session is created, so the case creates a second one.
    """
    try:
        profiled = session.evaluate("profiled")
    except NameError:
        raise Unsupported("this case creates no ONNX Runtime session to profile") from None
    path = profiled(calls)
    try:
        with open(path, encoding="utf-8") as stream:
            events = json.load(stream)
    finally:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    found: dict = {}
    for event in events:
        name = event.get("args", {}).get("op_name")
        if event.get("cat") == "Node" and name and event["name"].endswith("_kernel_time"):
            provider = event["args"].get("provider", "")
            add(found, "cuda" if "CUDA" in provider else "cpu", name, event["dur"] * 1e3)
    return found
