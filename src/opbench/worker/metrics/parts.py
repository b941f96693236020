"""Where the time of one call goes, by parts that the case itself marks.

A case whose set-up has a function `watch_parts` can be taken apart: called, it returns a dictionary
that from then on holds nanoseconds by part, complete for each call, a function for the bytes that
parts hold after a call, and one that ends the watching. Marks cost time, so the parts say how a
call is made up; how long it takes is `time`.
"""

import gc
import time

from ..session import Unsupported

DESCRIBE = {
    "name": "parts",
    "unit": "s",
    "description": "time of one call while its parts are timed one by one; in the detail, time and "
    "bytes of each",
    "sampled": False,
}

#: Calls that are watched: about this long, and within these limits.
SECONDS = 2.0
FEWEST, MOST = 8, 200


def measure(session, _options):
    try:
        watch = session.evaluate("watch_parts")
    except NameError:
        raise Unsupported("this case does not mark its parts") from None
    session.run("calls", 2)
    found, held, stop = watch()
    try:
        began = time.perf_counter()
        session.run("calls", 1)
        took = max(time.perf_counter() - began, 1e-6)
        calls = int(min(max(SECONDS / took, FEWEST), MOST))
        gc.collect()
        gc.disable()
        rounds = []
        for _ in range(calls):
            found.clear()
            session.run("calls", 1)
            rounds.append(dict(found))
        sizes = held()
    finally:
        gc.enable()
        stop()
    # The middle half of the calls: typical, as the time of a step is, and their means add up, as
    # medians of parts would not.
    ordered = sorted(rounds, key=lambda parts: sum(parts.values()))
    kept = ordered[calls // 4 : calls - calls // 4]
    names = dict.fromkeys(name for parts in kept for name in parts)
    parts = {name: sum(each.get(name, 0) for each in kept) / len(kept) / 1e9 for name in names}
    detail = {"parts": parts, "held": sizes, "calls": calls}
    return {"results": {"parts": {"samples": [sum(parts.values())], "detail": detail}}}
