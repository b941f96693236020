"""The standard set of snippets: how long it takes, and whether its counts repeat.

About fifteen minutes on two cores.
"""

from __future__ import annotations

from opbench.analyse.functions import difference, split
from opbench.counting import noise
from opbench.counting.statements import compiled
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
    again, _ = run(cases)
    counted = {
        case: (both[(case, metric)], result)
        for (case, metric), result in again.items()
        if metric == "instructions" and result.ok
    }
    print(differing(counted), flush=True)
    pairs = [(a.estimate or 0.0, b.estimate or 0.0) for a, b in counted.values()]
    same = sum(a == b for a, b in pairs) / len(pairs)
    worst = max(abs(a - b) / max(abs(a), 1.0) for a, b in pairs)
    near = sum(0 < abs(a - b) < 1 for a, b in pairs)
    text = f"{same:.1%} of {len(pairs)} identical, the worst off by {worst:.3%}"
    text += f"; {near} are off by less than one instruction per call"
    goal = "≥ 98 % identical, the rest within 0.1 %"
    rows.append(
        row("filtered counts of two separate runs", text, goal, same >= 0.98 and worst <= 0.001)
    )
    return "\n".join(rows)


def differing(counted: dict[str, tuple[Result, Result]]) -> str:
    """The cases whose counts differ, the worst first, and the functions that differ most."""
    lines = []
    for case, (a, b) in counted.items():
        before, after = a.estimate or 0.0, b.estimate or 0.0
        if before == after:
            continue
        changes = [c for c in difference(a, b) if not noise(split(c.function))]
        functions = [f"{c.change:+.2f} {c.function}" for c in changes[:FUNCTIONS]]
        off = abs(after - before) / max(before, 1.0)
        lines.append(
            (off, f"   {off:.4%} {case}: {before:.2f}, {after:.2f}: {'; '.join(functions)}")
        )
    return "\n".join(text for _, text in sorted(lines, reverse=True))
