"""Instructions of one call, counted by Callgrind, the empty loop taken off.

The child only toggles, runs and dumps: reading a dump under Valgrind would take longer than
making it, so the runner does that (`opbench.counting.instructions`).
"""

import gc
import os

DESCRIBE = {
    "name": "instructions",
    "unit": "instructions",
    "description": "instructions of one call (Callgrind), empty loop subtracted, without the "
    "internals of allocators and hash tables, whose counts depend on addresses",
    "sampled": False,
    "tool": "callgrind",
}

#: Enough for a specialising interpreter and TorchScript's profiling executor to settle.
SETTLING_CALLS = 20
NUMBER = 100
REPEATS = 2

#: Calls after which the interpreter's pools are put in order: a hole costs each of them.
PORTION = 5

#: Objects until the collector would run, and how many it is to have counted when counting begins:
#: it does less at zero and more at the threshold.
NEVER = 1 << 30
ABOVE_ZERO = 400


def measure(session, options):
    """Dump files, by what was counted in them: `stmt` and `idle`, each `repeats` times."""
    from .. import small_blocks
    from ..callgrind import requests

    number = int(options.get("number", NUMBER))
    repeats = int(options.get("repeats", REPEATS))
    counted = requests()
    way = session.case["way"]
    name = options.get("name", session.case["name"])
    session.run("calls", 2)
    plan = [("stmt", "stmt"), ("idle", "idle")]
    if way == "difference":
        plan = [("stmt", "stmt"), ("idle", "idle"), ("minus", "minus"), ("empty", "empty")]
    each = way in ("each", "prebuilt")
    portions = [PORTION] * (number // PORTION) + [number % PORTION] * (number % PORTION > 0)
    files: dict = {key: [] for key, _ in plan}
    gc.collect()
    gc.disable()
    # The collector counts objects and looks up at its threshold even when it is disabled.
    threshold = gc.get_threshold()
    gc.set_threshold(NEVER)
    above_zero: list = [[] for _ in range(ABOVE_ZERO)]
    small_blocks.make_room()
    count = _one_by_one if each else _together
    for _ in range(SETTLING_CALLS):
        # The interpreter specialises the code around the loop as well, and ctypes caches.
        for _key, what in plan:
            count(session, counted, what, 1)
            small_blocks.fill_holes()
    # The first round leaves free lists as every round finds them; it is dropped.
    for _ in range(1 + repeats):
        for key, what in plan:
            for some in portions:
                count(session, counted, what, some)
                small_blocks.fill_holes()
            files[key].append(counted.dump("%s %s" % (name, key)))
    del above_zero
    gc.set_threshold(*threshold)
    gc.enable()
    for dumped in files.values():
        os.unlink(dumped.pop(0))
    return {"results": {}, "dumps": files, "number": number}


def _together(session, counted, what, number):
    send, message = session.loop.send, (what, number)
    counted.toggle()
    send(message)
    counted.toggle()


def _one_by_one(session, counted, what, number):
    """What must happen before each call happens outside of what is collected."""
    send, message, before = session.loop.send, (what, 1), ("before", 1)
    for _ in range(number):
        send(before)
        counted.toggle()
        send(message)
        counted.toggle()
