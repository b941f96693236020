"""The standard set of snippets: how long all of it takes, and whether its counts repeat.

About twenty minutes on two cores.
"""

from __future__ import annotations

from opbench.run.environments import current
from opbench.run.statements import compiled
from perf.instructions import HEAD, row, run, standard

TITLE = "Instruction counts: the standard set"


def measure(quick: bool = False) -> str:
    cases = standard(quick)
    rows = list(HEAD)
    compiled(cases, current())  # its figure stands apart
    both, took = run(cases, ("time", "instructions"))
    ended = {key: r for key, r in both.items() if not r.ok and r.outcome != "unsupported"}
    said = f"{took / 60:.1f} min, {len(ended)} failed"
    rows.append(row(f"{len(cases)} cases, time and instructions", said, "≤ 15 min", took <= 900))
    again, _ = run(cases)
    pairs = [
        (both[key].estimate or 0.0, result.estimate or 0.0)
        for key, result in again.items()
        if key[1] == "instructions" and result.ok
    ]
    same = sum(a == b for a, b in pairs) / len(pairs)
    worst = max(abs(a - b) / max(abs(a), 1.0) for a, b in pairs)
    said = f"{same:.1%} of {len(pairs)} identical, the worst off by {worst:.3%}"
    goal = "≥ 98 % identical, the rest within 0.1 %"
    rows.append(
        row("filtered counts of two separate runs", said, goal, same >= 0.98 and worst <= 0.001)
    )
    return "\n".join(rows)
