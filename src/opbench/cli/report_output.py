"""What commands that report share: the runs they read, and where they write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from opbench.errors import UserError, unknown
from opbench.files import writing

if TYPE_CHECKING:
    from opbench.store import Store
    from opbench.store.records import RunRecord, StoredResult


def check_format(name: str, formats: Sequence[str]) -> None:
    if name not in formats:
        raise UserError(unknown("format", name, formats))


def runs_with(
    store: Store,
    names: Sequence[str],
    wanted: Callable[[StoredResult], bool],
    missing: str,
    *,
    samples: bool = True,
) -> list[tuple[RunRecord, list[StoredResult]]]:
    """The named runs, or the latest that has a wanted result; `missing` ends the error when none
    has one."""
    chosen = []
    for record in [store.find_run(name) for name in names] or store.runs():
        results = store.results(run=record, samples=samples)
        if any(map(wanted, results)):
            chosen.append((record, results))
            if not names:
                break
    if not chosen:
        where = f"run {', '.join(names)}" if names else "this store"
        raise UserError(f"{where} has no results of {missing}")
    return chosen


def suite_results(
    store: str | None, runs: Sequence[str], suites: Collection[str], missing: str
) -> tuple[list[list[StoredResult]], list[str]]:
    """The results of each run that `runs_with` finds for suites, and where they were measured."""
    from opbench.report.environment import environment_lines
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        found = runs_with(opened, runs, lambda stored: stored.case.suite in suites, missing)
    lines = (line for record, _ in found for line in environment_lines(record))
    return [results for _, results in found], list(dict.fromkeys(lines))


def write_to(output: Path | None, write: Callable[[TextIO], object]) -> None:
    """Into a file, or to the terminal."""
    if output is None:
        write(sys.stdout)
        return
    with writing(output) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        write(stream)
