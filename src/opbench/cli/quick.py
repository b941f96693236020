"""Quick questions: options and output of the commands that answer at once and store nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opbench.case import Case
    from opbench.result import Result

#: A ratio to a few percent, in less than a second per case: workers are there already, so the
#: time is that of six starts with a set of children each.
PRECISION, SECONDS = 0.03, 0.8

#: What differs from the options of `opbench run`.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "precision": {"default": PRECISION},
    "max_time_per_case": {"default": SECONDS, "metavar": f"{SECONDS}s"},
    "pool": {
        "default": True,
        "flags": ("--no-pool",),
        "help": "Start fresh workers instead of those of the pool (docs/workers.md).",
    },
    "save": {"default": False, "flags": ("--save",), "help": "Store the results as `run` does."},
}


def answer(
    options: Mapping[str, Any],
    axis: str,
    margin: float,
    *,
    base: str = "",
    cases: Sequence[Case] = (),
) -> int:
    """Measure, and show a column per value of the axis, the `base` first; the exit code."""
    from opbench.api.progress import progress
    from opbench.api.run import execute
    from opbench.plan.groups import Baseline
    from opbench.report.table import console_for, to_terminal
    from opbench.report.terminal.console import Console
    from opbench.report.terminal.run import problems, tables

    asked = {**options, **({"baseline": f"{axis}={base}"} if base else {})}
    # What failed is listed below the table.
    with progress(Console(stderr=True), failures=False) as listener:
        finished = execute(asked, cases=cases, listener=listener)
    console = console_for(sys.stdout)
    first = base or next((str(case.axes[axis]) for case, _ in finished.results), "")
    to_terminal(tables(finished.results, Baseline(axis, first), margin), console)
    for part in problems(finished.results):
        console.print(part)
    for line in remarks([result for _, result in finished.results]):
        print(line)
    if finished.store:
        print(f"Run {finished.id} {finished.status}; results in {finished.store}")
    return 130 if finished.status == "interrupted" else finished.exit_code


def remarks(results: Sequence[Result]) -> list[str]:
    """What a reader must know of the times above, each once."""
    from opbench.report.warnings.run_note import ADVICE, SAID
    from opbench.sampling.outcome import GPU_NOT_AWAITED, ZERO_TIME

    warnings = (each for result in results for each in result.warnings)
    of_time = (each.text for each in warnings if each.code in (ZERO_TIME, GPU_NOT_AWAITED))
    found = [f"{text[0].upper()}{text[1:]}." for text in dict.fromkeys(of_time)]
    code = "contended"
    if count := sum(any(each.code == code for each in result.warnings) for result in results):
        found.append(f"{count} of {len(results)} results {SAID[code]}: {ADVICE[code]}.")
    return found
