"""What this machine does between two starts of identical code, learnt while a run goes on.

On some machines a start's address layout costs or saves 1 %, on others small operators differ by
10 % and more. A case with three starts cannot know which machine it is on; the cases measured
before it can tell. Their scatter between starts, pooled, is the experience with which the next
case's few starts are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass

from opbench.stats.estimate import LAYOUT, Estimate

#: Degrees of freedom before the machine's own experience replaces the general one: about five
#: cases of three starts.
ENOUGH = 10
#: One case that a neighbour disturbed must not make every later interval useless.
MOST = 0.15


@dataclass
class Experience:
    """Feed it estimates with `note`; `value` is the relative standard deviation between starts."""

    squares: float = 0.0
    freedom: int = 0

    def note(self, found: Estimate) -> None:
        freedom = found.starts - 1
        if freedom < 1:
            return
        # What blocks alone explain is not the layout's doing.
        layout = max(0.0, found.seen**2 - found.within**2)
        self.squares += freedom * min(layout, MOST**2)
        self.freedom += freedom

    @property
    def value(self) -> float:
        """Never below what is generally seen: a few lucky cases prove nothing."""
        if self.freedom < ENOUGH:
            return LAYOUT
        return max(LAYOUT, (self.squares / self.freedom) ** 0.5)
