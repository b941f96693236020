"""How much worker starts scatter in the kept samples, one side alone and as the ratio of two."""

from __future__ import annotations

import numpy as np

from perf.holdout.samples import Measured


def sentence(measured: Measured) -> str:
    """Standard deviations, as medians over the pairs and the largest."""
    logs = np.median(measured.logs, axis=4)  # of each child: (pair, start, set, side)
    questions = np.array(measured.questions)
    alone = logs.mean(axis=2).std(axis=1, ddof=1)[questions == "different"].ravel()
    ratios = logs[..., 1] - logs[..., 0]
    sets = np.sqrt(ratios.var(axis=2, ddof=1).mean(axis=1))
    whole = ratios.mean(axis=2).std(axis=1, ddof=1)
    beyond = np.sqrt(np.maximum(0, whole**2 - sets**2 / ratios.shape[2]))
    said = [
        f"One side alone scatters from start to start by {np.median(alone):.1%} "
        f"(median of {len(alone)} cases; one in ten by more than {np.quantile(alone, 0.9):.1%})."
    ]
    for question, name in (("identical", "identical"), ("different", "different")):
        chosen = questions == question
        said.append(
            f"The ratio of {name} code scatters by {np.median(sets[chosen]):.1%} from set to set "
            f"of one start, and from start to start, beyond that, by "
            f"{np.median(beyond[chosen]):.1%} (median of {chosen.sum()} pairs; "
            f"{beyond[chosen].max():.1%} at most)."
        )
    return " ".join(said)
