"""How quick one interpreter is on a core of its own: what its children hold their cores against.

A child lives for a second, and the machine's cores may be shared for longer than that. So what the
children of an interpreter saw in the last minute is kept here for those that follow.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

#: The clock of a machine goes up and down with its temperature and with what else runs on it: what
#: was quick longer ago may not be seen again for hours.
SECONDS = 60.0


class Pace:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: When, and nanoseconds of `worker.core.pace`, rising: whatever came before a quicker one
        #: no longer counts.
        self._seen: deque[tuple[float, int]] = deque()

    @property
    def quickest(self) -> int:
        """Nanoseconds; 0 where nothing was seen."""
        while self._seen and self._seen[0][0] < self._clock() - SECONDS:
            self._seen.popleft()
        return self._seen[0][1] if self._seen else 0

    def note(self, seen: int) -> None:
        if seen > 0:
            while self._seen and self._seen[-1][1] >= seen:
                self._seen.pop()
            self._seen.append((self._clock(), seen))


_of: dict[str, Pace] = {}


def pace_of(python: str) -> Pace:
    """Of an interpreter, by its path: another takes another time for the same loop."""
    return _of.setdefault(python, Pace())
