"""What other cases have shown of a variance, and how many worker starts that is worth.

A case with five starts knows its own scatter badly. The cases measured before it in the same run,
for the same metric, tell what scatter is usual here, and how much it differs from case to case: if
all cases scatter alike, theirs counts for much, and if every case is different, for next to nothing
(Smyth 2004; the fit by the moments of log variances is that of limma's `fitFDist`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opbench.stats.distributions import digamma, t_quantile, tetragamma, trigamma

#: However alike the cases are, they count for no more starts than this: the next case may be of
#: another kind, and must be able to say so with the starts it has.
MOST_WEIGHT = 8.0
#: A fit to fewer degrees of freedom than these is no knowledge. And it counts for no more than a
#: quarter of them: how alike a few cases are is itself a guess.
ENOUGH, SHARE = 12, 0.25
#: No two worker starts agree better than this, relative; smaller variances are clocks that tick.
LEAST_SD = 0.001
#: What earlier runs on a machine showed counts half, and for no more starts than this: today's
#: first case may be of another kind. Of cases that scatter by 0.5 to 7 %, intervals from five
#: starts then hold in 93 % for those of 6 %, and in 95 % over all; at the full weight, in 90 %.
EARLIER_SHARE, EARLIER_WEIGHT = 0.5, 1.5


@dataclass(frozen=True)
class Prior:
    """A relative standard deviation, and its degrees of freedom: zero where nothing is known."""

    sd: float = 0.0
    freedom: float = 0.0

    def moderated(self, variance: float, freedom: float) -> tuple[float, float]:
        """A variance seen with so many degrees of freedom, averaged with the known one; and the
        degrees of freedom of both together.

        To know little must not be worse than to know nothing: where both together are worth less
        than `UNKNOWN`, that makes up the rest if the interval is narrower for it."""
        total = self.freedom + freedom
        found = (self.freedom * self.sd**2 + freedom * variance) / total if total > 0 else 0.0
        missing = UNKNOWN.freedom - total
        if missing <= 0:
            return found, total
        filled = (total * found + missing * UNKNOWN.sd**2) / UNKNOWN.freedom
        if total > 0 and t_quantile(total) ** 2 * found < t_quantile(UNKNOWN.freedom) ** 2 * filled:
            return found, total
        return filled, UNKNOWN.freedom


NOTHING = Prior()
#: Where there is nothing to go by, a single start of a first case, or a decision to stop early:
#: starts of small operators were seen to differ by 1.3 to 7.3 % on a quiet machine. Worth two
#: starts, so that an interval from it is frankly wide (±22 %), and is soon outvoted.
UNKNOWN = Prior(0.05, 2.0)


@dataclass
class VarianceFit:
    """The fit to the relative variances that many cases showed; add them, then ask for `prior`.

    It keeps sums only: a run has thousands of cases, and every one asks.
    """

    cases: int = 0
    freedom: float = 0.0
    #: Sums over the cases of the unbiased log variances, of their squares, and of what these must
    #: scatter with so few degrees of freedom.
    logs: float = 0.0
    squares: float = 0.0
    expected: float = 0.0

    def add(self, variance: float, freedom: float) -> None:
        half = freedom / 2
        log = math.log(max(variance, LEAST_SD**2)) - digamma(half) + math.log(half)
        self.cases += 1
        self.freedom += freedom
        self.logs += log
        self.squares += log**2
        self.expected += trigamma(half)

    def join(self, other: VarianceFit) -> None:
        """Add all that another fit was made of."""
        self.cases += other.cases
        self.freedom += other.freedom
        self.logs += other.logs
        self.squares += other.squares
        self.expected += other.expected

    @property
    def prior(self) -> Prior:
        """`NOTHING` where the cases are too few."""
        if self.cases < 2 or self.freedom < ENOUGH:
            return NOTHING
        mean = self.logs / self.cases
        seen = max(0.0, self.squares - self.cases * mean**2) / (self.cases - 1)
        # What the logs scatter beyond what their degrees of freedom explain is the cases' own.
        beyond = seen - self.expected / self.cases
        most = min(MOST_WEIGHT, SHARE * self.freedom)
        if beyond <= 0:
            return Prior(math.exp(mean / 2), most)
        half = _trigamma_inverse(beyond)
        middle = mean + digamma(half) - math.log(half)
        return Prior(math.exp(middle / 2), min(2 * half, most))


def _trigamma_inverse(value: float) -> float:
    """The x whose trigamma is `value`; Newton's method, as Smyth 2004 gives it."""
    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        here = trigamma(x)
        step = here * (1 - here / value) / tetragamma(x)
        x += step
        if -step / x < 1e-8:
            break
    return x


def satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of variances, each given with its own."""
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / freedom for variance, freedom in parts)
    return total**2 / squares if squares > 0 else math.inf
