"""Wall-clock time of one call, the cost of the empty loop subtracted."""

from ..watch import Watch

DESCRIBE = {
    "name": "time",
    "unit": "s",
    "description": "wall-clock time of one call, empty loop subtracted",
    "sampled": True,
}

#: In a fixed design, a run after one that took this long (ns) needs no untimed call: filling the
#: caches is a few thousandths of it, and one more step would be a twentieth of a published run of
#: twenty. Where blocks are compared with each other, each begins with one.
LONG_RUN = 200_000_000


def block(session, n):
    if session.prepared < 2 or session.last_block < LONG_RUN:
        session.run("calls", 1)  # untimed: wakes caches, threads and the branch predictor
    with Watch() as watch:
        spent = session.timed("time", n)
    session.last_block = spent
    if session.case["way"] == "difference":
        value = spent - session.timed("minus", n)
    else:
        value = spent - session.empty_ns(n, spent)
    return watch.sample(value / n / 1e9, n)
