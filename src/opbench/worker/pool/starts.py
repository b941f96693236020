"""All starts that the supervisor keeps: found by key, bounded, ended when their time is up."""

import selectors

from .. import protocol
from . import wire
from .kept import Kept, Lease, now

#: A lease is given up when so many starts could not serve it: their files change all the time.
MOST_MOVES = 2


class Full(Exception):
    """There is no room for another start."""


class Starts:
    def __init__(self, selector, limits):
        self._selector, self._limits = selector, limits
        self._kept = {}  # (key, number) -> Kept
        #: Those that get no more leases, while the workers forked from them are in use.
        self._leaving = set()
        #: Those that were asked to end.
        self._ending = []
        self._leases = 0

    def __bool__(self):
        return bool(self._kept or self._leaving or self._ending)

    def any_ending(self):
        return bool(self._ending)

    def describe(self):
        return [start.describe() for start in (*self._kept.values(), *self._leaving)]

    def lease(self, spec, number, control):
        """A worker for the socket, forked from the start of that number; raises Full."""
        self._leases += 1
        lease = Lease(self._leases, protocol.check_fields(spec, wire.SPEC, "a spec"), control)
        place = wire.key_of(spec), number
        start = self._kept.get(place)
        if start is not None and self._too_old(start):
            self.dismiss(start)
        self._give(lease, place)
        return lease

    def _give(self, lease, place):
        start = self._kept.get(place) or self._begin(lease.spec, *place)
        start.fork(lease)

    def _begin(self, spec, key, number):
        """A new start; idle ones of other keys are ended where it would be one too many."""
        spare = [start for start in self._kept.values() if start.idle and start.key != key]
        spare.sort(key=lambda start: start.used, reverse=True)
        while self._full():
            if not spare:
                raise Full("the pool is full: %s" % self._full())
            self.dismiss(spare.pop())
        start = Kept(key, spec, number)
        self._kept[key, number] = start
        self._selector.register(start.control, selectors.EVENT_READ, lambda: self._hear(start))
        return start

    def _full(self):
        """Why there is no room for one more; empty if there is."""
        if len(self._kept) >= self._limits.count:
            return "it has %d workers" % len(self._kept)
        sizes = [start.bytes() for start in self._kept.values()]
        held = sum(sizes)
        if sizes and held + held / len(sizes) > self._limits.memory(held):
            return "its workers hold %.1f GB" % (held / 1e9)
        return ""

    # -- what a start reports --------------------------------------------------------------

    def _hear(self, start):
        try:
            report = start.report()
        except (EOFError, protocol.ProtocolError):
            self._lost(start, "the worker ended: " + start.last_line())
            return
        event = report["event"] if report else ""
        if event == "broken":
            self._lost(start, report["reason"])
        elif event == "stale":
            lease = start.leases.pop(report["lease"], None)
            self.dismiss(start)
            if lease is not None:
                self._move(start, lease)
        elif event == "ended" and start in self._leaving and not start.leases:
            self._end(start)

    def _move(self, start, lease):
        """To a new start, because this one cannot serve it."""
        lease.moves += 1
        try:
            if lease.moves > MOST_MOVES:
                raise Full("%d worker starts in a row did not serve" % lease.moves)
            self._give(lease, (start.key, start.number))
        except (Full, OSError, ValueError) as error:
            lease.refuse(str(error))

    # -- ends ------------------------------------------------------------------------------

    def dismiss(self, start):
        """Give it no more leases, and end it as soon as it has none."""
        place = start.key, start.number
        if self._kept.get(place) is start:
            del self._kept[place]
            self._leaving.add(start)
        if not start.leases and start in self._leaving:
            self._end(start)

    def dismiss_all(self):
        """How many are ended at once, and how many with the commands that use them."""
        before = list(self._kept.values())
        for start in before:
            self.dismiss(start)
        in_use = len(self._leaving)
        return len(before) - sum(start in self._leaving for start in before), in_use

    def _lost(self, start, reason):
        """It has ended, or is to be ended because it hangs: with all that it forked."""
        for lease in list(start.leases.values()):
            if lease.pid is None:
                lease.refuse(reason)
        start.leases.clear()
        self.dismiss(start)

    def _end(self, start):
        self._leaving.discard(start)
        self._selector.unregister(start.control)
        start.end()
        self._ending.append(start)

    def kill_all(self):
        for start in (*self._kept.values(), *self._leaving, *self._ending):
            start.kill()

    # -- time and memory -------------------------------------------------------------------

    def _too_old(self, start):
        return start.idle and now() - start.used > self._limits.idle

    def check_time(self):
        for start in (*self._kept.values(), *self._leaving):
            late = [lease for lease in start.leases.values() if lease.late()]
            if start.deadline is not None and now() > start.deadline:
                self._lost(start, "its import took too long")
            elif any(lease.pid is None or lease.killed for lease in late):
                self._hangs(start)
            elif self._too_old(start):
                self.dismiss(start)
            else:
                for lease in late:
                    lease.kill()
        self._ending = [start for start in self._ending if not start.reaped()]

    def _hangs(self, start):
        """It neither forks nor reaps: another one serves those who wait."""
        waiting = [lease for lease in start.leases.values() if lease.pid is None]
        start.kill()
        start.leases.clear()
        self.dismiss(start)
        for lease in waiting:
            self._move(start, lease)

    def check_memory(self):
        """End those that were idle longest while they hold more than they may."""
        spare = [start for start in self._kept.values() if start.idle]
        spare.sort(key=lambda start: start.used, reverse=True)
        held = sum(start.bytes() for start in self._kept.values())
        while spare and held > self._limits.memory(held):
            held -= spare[-1].bytes()
            self.dismiss(spare.pop())

    def next_deadline(self):
        """The moment at which `check_time` has something to do, as far as is known."""
        starts = (*self._kept.values(), *self._leaving, *self._ending)
        moments = [start.deadline for start in starts]
        moments += [lease.deadline for start in starts for lease in start.leases.values()]
        moments += [start.used + self._limits.idle for start in self._kept.values() if start.idle]
        return min((moment for moment in moments if moment is not None), default=None)
