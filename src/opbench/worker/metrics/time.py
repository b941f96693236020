"""Wall-clock time of one call, the cost of the empty loop taken off."""

import time

from ..session import cpu_ns, device_bytes, involuntary_switches, peak_bytes

DESCRIBE = {
    "name": "time",
    "unit": "s",
    "description": "wall-clock time of one call, empty loop subtracted",
    "sampled": True,
}

#: A run of a fixed design needs no waking when the one before took this long: filling the caches is
#: a few thousandths of it, and one step more would be a twentieth of a published run of twenty.
#: Where blocks are compared with each other, all of them are woken.
LONG_RUN = 200_000_000


def block(session, n):
    if session.prepared < 2 or session.last_block < LONG_RUN:
        session.run("calls", 1)  # untimed: wakes caches, threads and the branch predictor
    switches = involuntary_switches()
    cpu = cpu_ns()
    began = time.perf_counter_ns()
    spent = session.timed("time", n)
    wall = time.perf_counter_ns() - began
    cpu = cpu_ns() - cpu
    switches = involuntary_switches() - switches
    session.last_block = spent
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
