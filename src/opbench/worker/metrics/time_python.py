"""The clock of Python's `timeit`: total time of a loop over its calls, nothing subtracted."""

from ..watch import Watch

DESCRIBE = {
    "unit": "s",
    "description": "wall-clock time of one call as timeit reports it, loop included",
    "sampled": True,
}


def block(session, n):
    with Watch(session.case.get("threads")) as watch:
        spent = session.timed("time", n)
    return watch.sample(spent / n / 1e9, n)
