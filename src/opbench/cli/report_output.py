"""What the reports of suites share: the runs they read, and where they write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from opbench.errors import UserError, unknown

if TYPE_CHECKING:
    from rich.console import Console

    from opbench.store import Store
    from opbench.store.records import RunRecord, StoredResult

#: A file has no width of its own, and a table in it should not be cut.
FILE_WIDTH = 160


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
    found = []
    for record in [store.find_run(name) for name in names] or store.runs():
        results = store.results(run=record, samples=samples)
        if any(map(wanted, results)):
            found.append((record, results))
            if not names:
                break
    if not found:
        where = f"run {', '.join(names)}" if names else "this store"
        raise UserError(f"{where} has no results of {missing}")
    return found


def write_to(output: Path | None, write: Callable[[TextIO], None]) -> None:
    """Into a file, or to the terminal."""
    if output is None:
        write(sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as stream:
            write(stream)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None


def console_for(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, width=None if stream.isatty() else FILE_WIDTH, highlight=False)
