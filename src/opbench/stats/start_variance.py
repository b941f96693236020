"""How much worker starts of identical code differ on this machine, learnt during a run.

On some machines a start's address layout costs or saves 1 %, on others small operators differ by
10 % and more. A case with three starts cannot know which machine it is on; the cases measured
before it can tell. Their variance between starts, pooled, is what the next case's few starts are
averaged with.
"""

from __future__ import annotations

from dataclasses import dataclass

from opbench.stats.estimate import DEFAULT_START_SD, Estimate

#: Degrees of freedom before the machine's own figure replaces the default: about five cases of
#: three starts.
ENOUGH = 10
#: One case that a neighbour disturbed must not make every later interval useless.
MOST = 0.15


@dataclass
class StartVariance:
    """Feed it estimates with `add`; `sd` is the relative standard deviation between starts."""

    squares: float = 0.0
    freedom: int = 0

    def add(self, estimate: Estimate) -> None:
        freedom = estimate.starts - 1
        if freedom < 1:
            return
        # What the noise of blocks explains is not due to the starts.
        variance = max(0.0, estimate.seen**2 - estimate.within**2)
        self.squares += freedom * min(variance, MOST**2)
        self.freedom += freedom

    @property
    def sd(self) -> float:
        """Never below the default: a few lucky cases prove nothing."""
        if self.freedom < ENOUGH:
            return DEFAULT_START_SD
        return max(DEFAULT_START_SD, (self.squares / self.freedom) ** 0.5)
