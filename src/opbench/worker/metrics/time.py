"""Wall-clock time of one call, the cost of the empty loop taken off."""

import time

from ..session import cpu_ns, device_bytes, involuntary_switches, peak_bytes

DESCRIBE = {
    "name": "time",
    "unit": "s",
    "description": "wall-clock time of one call, empty loop subtracted",
    "sampled": True,
}


def block(session, n):
    session.run("calls", 1)  # untimed: wakes caches, threads and the branch predictor
    switches = involuntary_switches()
    cpu = cpu_ns()
    began = time.perf_counter_ns()
    spent = session.timed("time", n)
    wall = time.perf_counter_ns() - began
    cpu = cpu_ns() - cpu
    switches = involuntary_switches() - switches
    if session.case["way"] == "difference":
        value = spent - session.timed("minus", n)
    else:
        value = spent - session.empty_ns(n, spent)
    return {
        "value": value / n / 1e9,
        "n": n,
        "wall_ns": wall,
        "cpu_ns": cpu,
        "switches": switches,
        "peak_bytes": peak_bytes(),
        "device_bytes": device_bytes(),
    }
