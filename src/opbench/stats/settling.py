"""Was a case still getting faster while it was sampled?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from opbench.stats.contention import Block

#: A case was not warm when the first third of its samples is slower than the last by this much.
UNSETTLED = 0.05
#: Fewer samples of a child have no thirds to speak of.
UNSETTLED_SAMPLES = 9


def slower_at_first(samples: Sequence[Block]) -> float:
    """How much slower the first third of a typical child's samples was than the last."""
    sessions: dict[tuple[int, int], list[float]] = {}
    for sample in samples:
        sessions.setdefault((sample.start, sample.session), []).append(sample.value)
    excesses = []
    for values in sessions.values():
        third = len(values) // 3
        if len(values) >= UNSETTLED_SAMPLES and (last := median(values[-third:])) > 0:
            excesses.append(median(values[:third]) / last - 1)
    return median(excesses) if excesses else 0.0
