"""Whether two adaptive runs of the layer suite, one after the other, agree.

About thirteen minutes. `python -m perf.layers_twice FOLDER` keeps the stores of both runs there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from opbench.result import Result
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
    """How many times of the second run agree with the first within their intervals."""
    seen: list[dict[str, Result]] = []
    for name in RUNS:
        with Store.open(place / name, create=False) as opened:
            found = opened.results(metric="time", outcome="ok")
            seen.append({stored.case.id: stored.result for stored in found})
    both = [(case, seen[0][case], seen[1][case]) for case in seen[0].keys() & seen[1].keys()]
    moved = {case: (b.estimate or 0) / (a.estimate or 1) - 1 for case, a, b in both}
    apart = sorted(
        (
            case
            for case, a, b in both
            if (a.high or 0) < (b.low or 0) or (b.high or 0) < (a.low or 0)
        ),
        key=lambda case: -abs(moved[case]),
    )
    agree = len(both) - len(apart)
    share = agree / len(both) if both else 0.0
    verdict = "reached" if share >= 0.95 else "**missed**"
    text = f"Two adaptive runs agree within their intervals for {agree} of {len(both)} cases "
    text += f"({share:.0%}; target 95 %): {verdict}. "
    # If all changed the same way, it was the machine; otherwise the intervals are too narrow.
    change = median(moved.values())
    text += f"From the first run to the second, times changed by {change:+.1%} (median)"
    disjoint = [f"{case} ({moved[case]:+.1%})" for case in apart]
    return text + (
        f"; the intervals do not overlap for {', '.join(disjoint)}." if disjoint else "."
    )


def main() -> None:
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    print(measured_in(place))


if __name__ == "__main__":
    main()
