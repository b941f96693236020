"""The geometric mean of many ratios, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opbench.stats.distributions import t_quantile
from opbench.stats.prior import satterthwaite
from opbench.stats.ratio import Ratio, exp


def geometric_mean(ratios: Sequence[Ratio]) -> tuple[float, float, float]:
    """The mean of these very cases and its 95 % interval: they are no sample of all cases.

    What their own starts make of them is independent from case to case and averages out. A shift of
    the machine between two runs moves all of them together and does not, however many they are.
    """
    count = len(ratios)
    mean = sum(math.log(ratio.value) for ratio in ratios) / count
    own = [(max(0.0, r.error**2 - r.shift**2) / count**2, r.freedom) for r in ratios]
    shift = sum(ratio.shift for ratio in ratios) / count
    parts = [*own, (shift**2, min(ratio.shift_freedom for ratio in ratios))]
    reach = t_quantile(satterthwaite(parts)) * math.sqrt(sum(variance for variance, _ in parts))
    return exp(mean), exp(mean - reach), exp(mean + reach)
