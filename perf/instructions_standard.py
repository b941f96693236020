"""The standard set of snippets: how long it takes, and whether its counts repeat.

About half an hour on two cores; ten minutes more with PYTORCH_CHECKOUT, the path of a checkout of
PyTorch whose own definitions are counted too, as they are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from opbench.analyse.functions import difference
from opbench.counting.statements import compiled
from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.envs.environments import current
from opbench.result import Result
from perf.instructions import HEAD, row, run, standard

TITLE = "Instruction counts: the standard set"
CODE = ("counting", "running/counting.py", "snippets.py", "suites/snippets", "worker")

#: Functions that are printed of a case whose counts differ.
FUNCTIONS = 6


def measure(quick: bool = False) -> str:
    cases = standard(quick)
    rows = list(HEAD)
    compiled(cases, current())  # which has its own figure
    both, took = run(cases, ("time", "instructions"))
    ended = {key: r for key, r in both.items() if not r.ok and r.outcome != "unsupported"}
    text = f"{took / 60:.1f} min, {len(ended)} failed"
    rows.append(row(f"{len(cases)} cases, time and instructions", text, "≤ 15 min", took <= 900))
    whole = {case: r for (case, metric), r in both.items() if metric == "instructions" and r.ok}
    middle = len(cases) // 2
    ways = {
        "of two separate runs": [cases],
        "in two pieces, as `--cont` runs them": [cases[:middle], cases[middle:]],
        "of every fifth case, as `-k` chooses them": [cases[::5]],
        "of three cases, each alone": [[case] for case in cases[:: max(1, len(cases) // 3)][:3]],
    }
    for way, parts in ways.items():
        rows.append(compared(way, whole, [run(part)[0] for part in parts]))
    if checkout := os.environ.get("PYTORCH_CHECKOUT"):
        rows.append(upstream(Path(checkout)))
    return "\n".join(rows)


def upstream(checkout: Path) -> str:
    """PyTorch's own definitions, unmodified."""
    path = checkout / "benchmarks" / "instruction_counts" / "definitions" / "standard.py"
    cases = expand(targets_from(path).definitions)
    built = compiled(cases, current())
    found, _ = run(cases)
    outcomes = Counter(r.outcome for (_, metric), r in found.items() if metric == "instructions")
    text = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
    failed = len(built.failures) + sum(outcomes.values()) - outcomes["ok"] - outcomes["unsupported"]
    goal = "181 cases, 0 failed"
    return row(f"upstream's definitions: {len(cases)} cases", text, goal, not failed)


def compared(
    way: str, whole: Mapping[str, Result], parts: Sequence[Mapping[tuple[str, str], Result]]
) -> str:
    """A row that says how many counts are those of the whole run."""
    counted = {
        case: (whole[case], result)
        for part in parts
        for (case, metric), result in part.items()
        if metric == "instructions" and result.ok and case in whole
    }
    print(differing(counted), flush=True)
    pairs = [(a.estimate or 0.0, b.estimate or 0.0) for a, b in counted.values()]
    same = sum(a == b for a, b in pairs) / max(1, len(pairs))
    worst = max((abs(a - b) / max(abs(a), 1.0) for a, b in pairs), default=0.0)
    near = sum(0 < abs(a - b) < 1 for a, b in pairs)
    text = f"{same:.1%} of {len(pairs)} identical, the worst off by {worst:.3%}"
    text += f"; {near} are off by less than one instruction per call"
    goal = "≥ 98 % identical, the rest within 0.01 %"
    return row(f"filtered counts {way}", text, goal, same >= 0.98 and worst <= 0.0001)


def differing(counted: dict[str, tuple[Result, Result]]) -> str:
    """The cases whose counts differ, the worst first, and the functions that differ most."""
    lines = []
    for case, (a, b) in counted.items():
        before, after = a.estimate or 0.0, b.estimate or 0.0
        if before == after:
            continue
        changes = difference(a, b)
        functions = [f"{c.change:+.2f} {c.function}" for c in changes[:FUNCTIONS]]
        off = abs(after - before) / max(before, 1.0)
        lines.append(
            (off, f"   {off:.4%} {case}: {before:.2f}, {after:.2f}: {'; '.join(functions)}")
        )
    return "\n".join(text for _, text in sorted(lines, reverse=True))
