"""Whether two adaptive runs of the layer suite, one after the other, agree.

Overlap of two intervals says little: they overlap although both are wrong. How often does the
interval of one run hold the *estimate* of the other? Less often than the truth, since that
estimate has an error of its own: of two equal intervals over twelve starts, 85 in 100 do. Theory
predicts the share for the intervals at hand, and the share that was seen is judged by it.

About thirteen minutes. `python -m perf.layers_twice FOLDER` keeps the stores of both runs there.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from opbench.result import Result
from opbench.stats.distributions import t_quantile
from opbench.stats.prior import satterthwaite
from opbench.stats.start_variance import Learnt
from opbench.store import Store
from perf.layers import GROUPS, Work, adaptive, precision

TITLE = "Layers: two runs of the suite"
CODE = ("running", "sampling", "stats", "suites/layers", "worker", "workers")

RUNS = ("first.db", "second.db")
ORDER = ("First", "Second")


def measure(quick: bool = False) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return measured_in(Path(folder), quick)


def measured_in(place: Path, quick: bool = False) -> str:
    works = {name: Work(layers) for name, layers in GROUPS.items() if name != "convolution"}
    if quick:
        works = {"feed-forward": Work(("linear", "layernorm"), ("16",))}
    for name in RUNS:
        adaptive(works, place / name)
    each = [precision(place / name) for name in RUNS]
    labelled = [f"{label} run: {text[0].lower()}{text[1:]}" for label, text in zip(ORDER, each)]
    return "\n\n".join([agreement(place), *labelled])


def agreement(place: Path) -> str:
    """How often the interval of one run holds the estimate of the other."""
    seen: list[dict[str, Result]] = []
    for name in RUNS:
        with Store.open(place / name, create=False) as opened:
            found = opened.results(metric="time", outcome="ok")
            seen.append({stored.case.id: stored.result for stored in found})
    both = {case: (seen[0][case], seen[1][case]) for case in seen[0].keys() & seen[1].keys()}
    held, expected = held_and_expected(list(both.values()))
    least = expected - 2 * math.sqrt(expected * (1 - expected) / max(1, len(both)))
    verdict = "reached" if held >= least else "**missed**"
    text = f"Of the intervals of {len(both)} cases in two adaptive runs, {held:.0%} hold the "
    text += "estimate of the other run; for intervals that hold the truth in 95 %, theory "
    text += f"predicts {expected:.0%} (at least {least:.0%} for so few cases): {verdict}. "
    # If all changed the same way, it was the machine; otherwise the intervals are too narrow.
    moved = {case: (b.estimate or 0) / (a.estimate or 1) - 1 for case, (a, b) in both.items()}
    text += f"From the first run to the second, times changed by {median(moved.values()):+.1%} "
    apart = [case for case, (a, b) in both.items() if not (holds(a, b) or holds(b, a))]
    apart.sort(key=lambda case: -abs(moved[case]))
    disjoint = ", ".join(f"{case} ({moved[case]:+.1%})" for case in apart)
    return text + "(median)" + (f"; neither interval holds for {disjoint}." if disjoint else ".")


def holds(one: Result, other: Result) -> bool:
    return (one.low or 0.0) <= (other.estimate or 0.0) <= (one.high or 0.0)


def held_and_expected(pairs: Sequence[tuple[Result, Result]]) -> tuple[float, float]:
    """The share of the intervals that hold the other's estimate, and what theory predicts."""
    sides = [side for a, b in pairs for side in ((a, b), (b, a))]
    held = [holds(*side) for side in sides]
    expected = [chance_to_hold(*side) for side in sides]
    return sum(held) / max(1, len(sides)), sum(expected) / max(1, len(sides))


def chance_to_hold(one: Result, other: Result) -> float:
    """That an interval holds an estimate which scatters around the same truth.

    The difference of two estimates, over the errors of both, is Student's t (Welch); the interval
    was made for one of the errors.
    """
    from scipy.special import stdtr

    freedoms = [freedom_of(each) for each in (one, other)]
    reaches = [each.half_width or 0.0 for each in (one, other)]
    errors = [reach / t_quantile(f) for reach, f in zip(reaches, freedoms, strict=True)]
    both = satterthwaite([(error**2, f) for error, f in zip(errors, freedoms, strict=True)])
    return float(1 - 2 * stdtr(both, -reaches[0] / math.hypot(*errors)))


def freedom_of(result: Result) -> float:
    """Degrees of freedom of its interval: its own starts, and what earlier cases were worth."""
    starts = len({sample.start for sample in result.samples})
    return max(1.0, starts - 1 + Learnt.stored(result.detail).start.freedom)


def main() -> None:
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    print(measured_in(place))


if __name__ == "__main__":
    main()
