"""A run's time, shared out: each group gets its part of what is left, less what comes on top.

On top of sampling come the comparison of what frameworks compute, inputs that are made, compilers.
What the groups so far needed for that is put aside for those to come; otherwise the first ones
would take it, and nothing would be left for the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: However much comes on top, sampling gets this part of a group's share.
LEAST = 0.25
#: A warning that the budget will not do comes after so many groups, and beyond this many times it.
SEEN, FAR = 20, 1.25


@dataclass
class Budget:
    seconds: float
    #: Groups still to be measured.
    groups: int
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    _sampled: float = 0.0
    _done: int = 0
    _warned: bool = False

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def left(self) -> float:
        return max(0.0, self.began + self.seconds - self.clock())

    def share(self, starting: float = 0.0) -> float:
        """Seconds for sampling the next group; `starting` is what worker starts took so far.

        Workers are started once, so their time is not expected again.
        """
        waiting = max(1, self.groups - self._done)
        share = self.left / waiting
        # This group's own part of it is mostly behind us when its share is asked for.
        on_top = (self.clock() - self.began - self._sampled - starting) / (self._done + 1)
        return max(share * LEAST, share - max(0.0, on_top) * (waiting - 1) / waiting)

    def note(self, sampled: float) -> None:
        """A group is through; sampling it took so many seconds."""
        self._done += 1
        self._sampled += sampled

    def overrun(self) -> float:
        """Seconds that the whole will take at the rate so far, once, where that is far beyond the
        budget; otherwise 0. Setting up and a single worker start may take that long."""
        if self._warned or self._done < min(SEEN, self.groups):
            return 0.0
        expected = (self.clock() - self.began) * self.groups / self._done
        self._warned = expected > self.seconds * FAR
        return expected if self._warned else 0.0
