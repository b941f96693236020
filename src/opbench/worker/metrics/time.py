"""Wall-clock time of one call, the cost of the empty loop subtracted."""

from ..watch import Watch

DESCRIBE = {
    "unit": "s",
    "description": "wall-clock time of one call, empty loop subtracted",
    "sampled": True,
}


def block(session, n):
    with Watch(session.case.get("threads")) as watch:
        spent = session.timed("time", n)
    if session.case["way"] == "difference":
        value = spent - session.timed("minus", n)
    else:
        value = spent - session.empty_ns(n, spent)
    return watch.sample(value / n / 1e9, n)
