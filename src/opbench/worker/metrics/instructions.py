"""Instructions of one call, counted by Callgrind, the empty loop subtracted.

The child only toggles, runs and dumps. The runner (`opbench.counting.instructions`) reads the
dumps: under Valgrind that would take longer than writing them.
"""

import gc
import os
import resource
import sys
import time

DESCRIBE = {
    "unit": "instructions",
    "description": "instructions of one call (Callgrind), empty loop subtracted, without the "
    "internals of allocators and hash tables, whose counts depend on addresses",
    "sampled": False,
    "tool": "callgrind",
    "uncompared": ("instructions_raw",),
}

#: Calls after which holes in the interpreter's pools are filled: each call pays for a hole.
PORTION = 5

#: The collector's threshold while counting, and how many objects it has counted by then: it does
#: less work at zero and more at the threshold.
NEVER = 1 << 30
ABOVE_ZERO = 400


def measure(session, options):
    """Dump files by what they count: `stmt` and `idle`, each `repeats` times."""
    from ..callgrind import small_blocks
    from ..callgrind.plans import plan_for
    from ..callgrind.requests import requests

    counted = requests()
    timing_mode = session.case["way"]
    name = options.get("name", session.case["name"])
    plan = ["stmt", "idle"]
    if timing_mode == "difference":
        plan += ["minus", "empty"]
    count = one_by_one if timing_mode in ("each", "prebuilt") else together
    length = _length(session, counted, count)
    settling, number, repeats, dropped = plan_for(
        length, options.get("number"), options.get("repeats")
    )
    portions = [PORTION] * (number // PORTION) + [number % PORTION] * (number % PORTION > 0)
    files: dict = {what: [] for what in plan}
    gc.collect()
    gc.disable()
    # Even when disabled, the collector counts objects and acts at its threshold.
    threshold = gc.get_threshold()
    gc.set_threshold(NEVER)
    above_zero: list = [[] for _ in range(ABOVE_ZERO)]
    small_blocks.make_room()
    for _ in range(settling):
        for what in plan:
            count(session, counted, what, 1)
            small_blocks.fill_holes()
    counted.zero()  # what settling has collected
    # The first round fills the free lists that the later ones find.
    for kept in [False] * dropped + [True] * repeats:
        for what in plan:
            for some in portions:
                count(session, counted, what, some)
                small_blocks.fill_holes()
            files[what].append(counted.dump("%s %s" % (name, what), kept))
    del above_zero
    gc.set_threshold(*threshold)
    gc.enable()
    for dumped in files.values():
        del dumped[:dropped]
    return {"results": {}, "dumps": files, "number": number, "threads": _threads()}


def _length(session, counted, count):
    """Instructions of a call, roughly: the first loads and compiles, the second is counted."""
    from ..callgrind.plans import LONG, length_of_wait

    began = time.process_time()
    session.run("calls", 1)
    if time.process_time() - began > LONG:
        return float("inf")
    counted.zero()
    before = _waits()
    count(session, counted, "stmt", 1)
    waited = _waited_since(before)
    path = counted.dump("length")
    try:
        with open(path, "rb") as dumped:  # near its beginning, after a command line of any length
            found = next(int(line.split()[1]) for line in dumped if line.startswith(b"summary:"))
    finally:
        os.unlink(path)
    return max(found, length_of_wait(waited))


def _waits():
    """For how long, and how often, this process has waited by now: not for a processor."""
    seconds = time.monotonic() - time.process_time()
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def _waited_since(before):
    seconds, times = _waits()
    return seconds - before[0] if times > before[1] else 0.0


def _threads():
    """How many threads torch has used: a setup may ask for more than the worker did."""
    torch = sys.modules.get("torch")
    if torch is None or len(os.listdir("/proc/self/task")) == 1:
        return 1
    return int(torch.get_num_threads())


def together(session, counted, what, number):
    send, message = session.loop.send, (what, number)
    counted.toggle()
    send(message)
    counted.toggle()


def one_by_one(session, counted, what, number):
    """`before` runs outside of what is collected."""
    send, message, before = session.loop.send, (what, 1), ("before", 1)
    for _ in range(number):
        send(before)
        counted.toggle()
        send(message)
        counted.toggle()
