"""How many calls of a statement are counted: fewer of a long one, in a few steps far apart.

By the instructions of a call, not by its time: a number of calls that followed the speed of the
machine would change counts a little from run to run. Of a million instructions, those that
settling would save are few.
"""

#: (instructions of a call, calls to settle, calls counted together, repeats, rounds that are
#: dropped). Enough calls to settle for a specialising interpreter and for TorchScript's profiling
#: executor; a case takes some ten seconds at most, until one call takes more.
PLANS = (
    (1e6, 20, 100, 2, 1),
    (1e7, 5, 10, 2, 1),
    (1e8, 1, 1, 2, 0),
    (float("inf"), 0, 1, 1, 0),
)
#: A first call that takes longer, in seconds under Valgrind, is not repeated to find out.
LONG = 20.0

#: (seconds that a call waits: for a child, a lock, the clock; instructions that take as long).
WAITS = ((0.05, 2e6), (0.2, 2e7), (2.0, float("inf")))

#: How much slower than natively code runs under Callgrind, roughly.
SLOWDOWN = 50.0
#: Instructions in a second natively, roughly.
SPEED = 2e9
#: Seconds that a case takes besides its calls: a fork, its setup, dumps.
CASE_SECONDS = 1.0


def length_of_wait(seconds):
    """Instructions of a call that is to be counted as often as one that waits this long."""
    return max((length for least, length in WAITS if seconds >= least), default=0.0)


def plan_for(instructions, number=None, repeats=None):
    """(calls to settle, calls counted together, repeats, rounds to drop) for calls this long."""
    settling, usual, often, dropped = next(plan[1:] for plan in PLANS if instructions <= plan[0])
    return settling, int(number or usual), int(repeats or often), dropped


def expected_seconds(native, number=None, repeats=None):
    """Roughly how long it takes to count a statement whose call takes `native` seconds."""
    settling, number, repeats, dropped = plan_for(native * SPEED, number, repeats)
    return CASE_SECONDS + native * SLOWDOWN * (2 + settling + number * (repeats + dropped))
