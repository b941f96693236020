"""What would make an unknown verdict known: how many more worker starts, at the scatter seen."""

from __future__ import annotations

import math

from opbench.stats.distributions import t_quantile
from opbench.stats.ratio import Ratio

#: Beyond this many starts on a side the answer is to change the measurement.
MOST_STARTS = 100
#: What a case takes at most, unless more are asked for, by design.
USUAL_STARTS = {"paired": 6, "interleaved": 6, "separate": 12}


def starts_needed(ratio: Ratio, margin: float, rate: float, cases: int = 1) -> int | None:
    """Worker starts (per side) that would settle a ratio of this value, by calling it the same, or
    different in a suite of so many cases; None where no number of starts would.
    """
    log = abs(math.log(ratio.value))
    same, different = math.log1p(margin) - log, log
    own = max(0.0, ratio.error**2 - ratio.shift**2) * ratio.starts

    def settles(starts: int) -> bool:
        error = math.sqrt(ratio.shift**2 + own / starts)
        freedom = ratio.freedom + (starts - ratio.starts if not ratio.shift else 0)
        return (
            t_quantile(freedom) * error <= same
            or t_quantile(freedom, 1 - rate / cases) * error <= different
        )

    # More starts never settle less: halve the range. A suite asks for every case it has.
    low, high = ratio.starts, MOST_STARTS
    if low >= high or not settles(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return high


def advice(
    ratio: Ratio, margin: float, rate: float, cases: int, seconds: float, fixed: bool = False
) -> str:
    """In words; `seconds` is what one start of both sides took, zero where that is not known. In a
    fixed design every start needs a run."""
    starts = starts_needed(ratio, margin, rate, cases)
    if starts is None:
        if ratio.shift:
            return "more starts would not tell, as the runs differ too; use opbench ab"
        return f"even {MOST_STARTS} worker starts would not tell"
    more = starts - ratio.starts
    cost = f" ({_duration(seconds * more)})" if seconds else ""
    plural = "s" * (more > 1)
    # Fewer than are taken anyway were a matter of time. Of all of them, one side has half, and may
    # take twice as long as those before.
    usual = USUAL_STARTS.get(ratio.design, 0)
    options = [f"--max-starts {starts}"] if starts > usual or fixed else []
    if fixed:
        options.append(f"--num-runs {starts} or more")
    elif seconds:
        options.append(f"--max-time-per-case {math.ceil(seconds * starts)}s")
    given = " ".join(options) or "a longer --max-time-per-case"
    return f"about {more} more worker start{plural}{cost} would tell ({given})"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "under 1 s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
