"""A core of its own for a block: what guests of the same host do is seen nowhere else.

A virtual CPU is often one of the two threads of a core. While a stranger's program runs on the
other, ours takes 1.4 to 2 times as long, for a tenth of a second or for some; neither the scheduler
nor the time stolen by the host shows it. A short loop that always does the same work does: before
a block the process looks for a core on which it is quick, and after it whether that core still is.
"""

import itertools
import os
import random
import time

#: Some 25 µs: short beside a block, and a hundred times the resolution of the clock.
ROUNDS = 400
#: The first pass finds cold caches, and one in some is interrupted.
PASSES = 3
#: A core is shared when the loop takes this much longer than on one that is not: less than another
#: thread on it does, more than a clock that goes up and down with the temperature.
SHARED = 1.25
#: After heavy vector instructions the clock of a core stays lower for less than this, and after a
#: sleep it takes as long to come up again: who shares a core stays longer.
RECOVERY_NS = 1_500_000
#: Where every core is shared, they are looked at again after so many seconds.
AGAIN_SECONDS = 0.004


def pace(rounds=ROUNDS):
    """Nanoseconds of the loop on the core that this thread runs on."""
    factor = 12345
    began = time.perf_counter_ns()
    for _ in itertools.repeat(None, rounds):
        factor * factor
    return time.perf_counter_ns() - began


class Cores:
    """The CPUs that this process may use, and how quick the loop is on one that is not shared."""

    def __init__(
        self, quickest, pace=pace, settle=None, clock=time.perf_counter_ns, sleep=time.sleep
    ):
        """`quickest` is the time of the loop on a core that was not shared; 0 if not known yet."""
        #: The same in what was seen here; 0 before the first look.
        self.seen = 0
        self._quickest = quickest
        self._pace, self._settle = pace, settle or settle_on
        self._clock, self._sleep = clock, sleep

    def seek(self, cpus, patience):
        """Move to the first of these CPUs that is not shared, and wait for one for at most so many
        nanoseconds; without one, to the quickest. Returns whether one was found."""
        end = self._clock() + patience
        while True:
            paces = {}
            for cpu in cpus:
                self._settle(cpu)
                paces[cpu] = self._look()
                if self._is_alone(paces[cpu]):
                    return True
            if self._clock() >= end:
                self._settle(min(paces, key=paces.__getitem__))
                return False
            self._sleep(AGAIN_SECONDS)

    def still_alone(self):
        """Whether the core of this thread is not shared, once it has recovered from the block."""
        end = self._clock() + RECOVERY_NS
        while not self._is_alone(self._look()):
            if self._clock() >= end:
                return False
        return True

    def _look(self):
        taken = min(self._pace() for _ in range(PASSES))
        self.seen = min(taken, self.seen or taken)
        self._quickest = min(taken, self._quickest or taken)
        return taken

    def _is_alone(self, taken):
        return taken <= SHARED * self._quickest


def in_order(first=None):
    """The CPUs of this process: the one it is to begin with, or has; then the others, at random,
    since other workers may be looking as well."""
    allowed = list(os.sched_getaffinity(0))
    # The code under test may count on the state of the other generator.
    random.SystemRandom().shuffle(allowed)
    begin = current() if first is None else first
    return sorted(allowed, key=lambda cpu: cpu != begin)


def current():
    """The CPU that this thread runs on; -1 where the system does not say."""
    try:
        with open("/proc/thread-self/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[36])
    except (OSError, IndexError, ValueError):
        return -1


def settle_on(cpu):
    """Continue on a CPU, free to be moved again at once: nothing that the code under test starts is
    confined. The two sides of a comparison thus run on the same one: left to the scheduler, each
    stays on its own, and cores differ."""
    allowed = os.sched_getaffinity(0)
    if cpu not in allowed or len(allowed) == 1:
        return
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        return  # some sandboxes refuse it
    os.sched_setaffinity(0, allowed)
