"""Do intervals, verdicts and promises hold on noise that nobody tuned them on?

First in simulations, in which every figure of noise stands in these files: the program's own
constants are never imported. Then on the real samples of `perf.holdout`. Each row gives what was
found, and what must be reached.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from perf.calibration.figure import Figure, table

TITLE = "Calibration: coverage, alarms and power, simulated and on kept samples"
CODE = ("sampling", "stats")


#: Repetitions of a simulated setting: a share of 95 % is then known to ± 1 %.
ROUNDS = 2000
SEED = 20261116


def measure(quick: bool = False) -> str:
    from perf.holdout import judge, samples, scatter

    rounds = 100 if quick else ROUNDS
    parts = ["In simulations:", "\n".join(table(list(simulated(rounds))))]
    for path in sorted(samples.DATA.glob("*.npz")):
        kept = samples.read(path)
        parts.append(f"On the samples of `{path.name}`, measured {kept.about}:")
        parts.append(scatter.sentence(kept))
        parts.append("\n".join(table(list(judge.figures(kept, *((5, 1) if quick else ()))))))
    return "\n\n".join(parts)


def simulated(rounds: int) -> Iterator[Figure]:
    """Every setting has a seed of its own: one that is changed leaves the others as they are."""
    from perf.calibration import one_case, pairs, runs

    settings = (
        (one_case.one_estimate, rounds),
        (one_case.slow_starts, rounds),
        (one_case.adaptive_stopping, rounds),
        (pairs.identical_pairs, rounds),
        (pairs.disturbed_sides, rounds // 4),
        (pairs.promises, rounds // 4),
        (runs.means_of_many, rounds // 4),
        (runs.stored_runs, rounds),
        (runs.slow_drift, rounds // 2),
        (runs.slow_histories, rounds // 4),
        (runs.several_nodes, rounds),
    )
    for number, (figures, times) in enumerate(settings):
        began = time.monotonic()
        found = list(figures(np.random.default_rng([SEED, number]), times))
        print("\n".join([*table(found)[2:], f"({time.monotonic() - began:.0f} s)"]), flush=True)
        yield from found
