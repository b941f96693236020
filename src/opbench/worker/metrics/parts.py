"""Where the time of one call goes, by parts that the case itself marks.

A case whose set-up has a function `watch_parts` can be taken apart: called, it returns a dictionary
that from then on holds nanoseconds by part, complete for each call, a function for the bytes that
parts hold after a call, and one that ends the watching. Marks cost time, so the parts say how a
call is made up; how long it takes is `time`.
"""

import time

from .. import core
from ..session import Unsupported

DESCRIBE = {
    "unit": "s",
    "description": "time of one call while its parts are timed one by one; in the detail, time and "
    "bytes of each",
    "sampled": False,
    "starts": 5,
}

#: Calls that are watched in each worker start: about this long, and within these limits.
SECONDS = 0.5
FEWEST, MOST = 8, 200
#: Where the core is shared now and then, more calls are made, for so many times as long; so few on
#: a core that nobody shared say more than all of them.
LONGER, ENOUGH = 4, 2
#: How often calls with marks and calls without them take turns.
TURNS = 4
#: How long a call waits for a core that nobody shares, in nanoseconds.
PATIENCE_NS = 20_000_000


def measure(session, options):
    try:
        watch = session.evaluate("watch_parts")
    except NameError:
        raise Unsupported("this case does not mark its parts") from None
    session.run("calls", 2)
    # The time of a call is taken on a core that nobody shares, and its parts are held against it.
    cores = core.Cores(options.get("quickest", 0)) if session.one_thread else None
    began = time.perf_counter()
    session.run("calls", 1)
    took = max(time.perf_counter() - began, 1e-6)
    calls = int(min(max(SECONDS / took, FEWEST), MOST))
    # As many calls before: the first ones of a child fetch memory, the more of it the more a step
    # keeps, and its time is that of a child which has what it needs.
    session.run("calls", calls)
    plain, rounds, sizes = [], [], {}
    each, seconds = -(-calls // TURNS), LONGER * SECONDS / TURNS
    for _ in range(TURNS):
        # The same calls with and without marks, in turn: the speed of a machine wanders.
        plain += timed(session, None, each, cores, time.perf_counter() + seconds)
        found, held, stop = watch()
        try:
            rounds += timed(session, found, each, cores, time.perf_counter() + seconds)
            sizes = held()
        finally:
            stop()
    kept = typical(rounds)
    names = dict.fromkeys(name for parts in kept for name in parts)
    parts = {name: sum(each.get(name, 0) for each in kept) / len(kept) / 1e9 for name in names}
    without = [each["all"] for each in typical(plain)]
    detail = {"parts": parts, "held": sizes, "calls": len(rounds)}
    detail["unmarked"] = sum(without) / len(without) / 1e9
    results = {"parts": {"samples": [sum(parts.values())], "detail": detail}}
    return {"results": results, "quickest": cores.seen if cores else 0}


def typical(rounds):
    """The middle half of the calls: typical, as the time of a step is, and their means add up, as
    medians of parts would not."""
    ordered = sorted(rounds, key=lambda parts: sum(parts.values()))
    return ordered[len(rounds) // 4 : len(rounds) - len(rounds) // 4]


def timed(session, found, calls, cores, end):
    """The parts of so many calls on a core that nobody shared, made until `end`; where there were
    hardly any, of all that were made. Without `cores`, of any; without `found`, each is one part.
    """
    every: list = []
    alone: list = []
    while len(alone) < calls and (len(every) < calls or time.perf_counter() < end):
        is_alone = cores is None or cores.seek(core.in_order(), PATIENCE_NS)
        # As a block of a long call is: after an untimed one, garbage collection off.
        session.run("calls", 1)
        if found is not None:
            found.clear()
        began = time.perf_counter_ns()
        session.timed("calls", 1)
        spent = time.perf_counter_ns() - began
        every.append({"all": spent} if found is None else dict(found))
        if is_alone and (cores is None or cores.still_alone()):
            alone.append(every[-1])
    return alone if len(alone) >= ENOUGH else every
