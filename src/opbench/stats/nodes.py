"""One difference, measured on several machines: what is the code's, and what the machine's?

Each node gives a log-ratio with its own error. Their mean is the difference that machines have in
common; its error rests on how much nodes differ from each other, since another fleet would hold
other nodes. As elsewhere, the variance between few units is moderated: what these nodes show is
averaged with what their own errors alone would make them show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opbench.stats.distributions import t_quantile
from opbench.stats.ratio import Ratio, exp

#: How many observed nodes "they differ by their own errors only" is worth. One keeps two nodes that
#: happen to agree from claiming certainty, and is soon outvoted: where machines differ five times
#: as much as their errors, a nominal 95 % interval covers 86 % with two nodes, 93 % with six.
NODE_WEIGHT = 1


@dataclass(frozen=True)
class OverNodes:
    ratio: Ratio
    nodes: int
    #: Standard deviation of the difference from node to node, relative, beyond the nodes' own
    #: errors: 0.02 reads as "2 % of the difference is the machine's". Zero when they explain it.
    between: float


def over_nodes(ratios: Sequence[Ratio]) -> OverNodes | None:
    """None without ratios. One node has nothing to say about machines: its own ratio comes back."""
    if not ratios:
        return None
    if len(ratios) == 1:
        return OverNodes(ratios[0], 1, 0.0)
    logs = [math.log(ratio.value) for ratio in ratios]
    count = len(logs)
    mean = sum(logs) / count
    own = sum(ratio.error**2 for ratio in ratios) / count
    seen = sum((log - mean) ** 2 for log in logs)
    freedom = NODE_WEIGHT + count - 1
    variance = (NODE_WEIGHT * own + seen) / freedom
    error = math.sqrt(variance / count)
    reach = t_quantile(freedom) * error
    starts = sum(ratio.starts for ratio in ratios)
    design = ratios[0].design if len({ratio.design for ratio in ratios}) == 1 else "separate"
    joint = Ratio(exp(mean), exp(mean - reach), exp(mean + reach), starts, design, error, freedom)
    return OverNodes(joint, count, math.sqrt(max(0.0, seen / (count - 1) - own)))
