"""`opbench workers`: the pool of worker starts that outlives commands."""

from __future__ import annotations

import sys
from typing import Any

import typer


def workers(
    stop: bool = typer.Option(
        False, "--stop", help="End them; one that is in use ends with the command that uses it."
    ),
) -> int:
    """List the worker starts that are kept, or end them."""
    from opbench.errors import plural
    from opbench.workers.shared import NoSupervisor, Supervisor

    try:
        supervisor = Supervisor(begin=False)
    except NoSupervisor:
        print("No workers are kept.")
        return 0
    if stop:
        from opbench.counting import valgrind

        ended, in_use = supervisor.retire()
        valgrind.tidy()
        more = f"; {in_use} in use end with their command" if in_use else ""
        print(f"Ended {plural(ended, 'worker')}{more}.")
        return 0
    found = supervisor.starts()
    supervisor.close()
    if not found:
        print("No workers are kept.")
        return 0
    _show(found)
    return 0


def _show(found: list[dict[str, Any]]) -> None:
    from opbench.report.table import Column, Table, console_for, grid
    from opbench.report.units import format_value

    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in found:
        imported = ", ".join(each["preload"]) or "plain Python"
        kinds.setdefault((imported, each["python"]), []).append(each)
    rows = [
        (
            imported,
            str(len(starts)),
            _states(starts),
            format_value(sum(each["bytes"] for each in starts), "bytes"),
            python,
        )
        for (imported, python), starts in kinds.items()
    ]
    columns = [
        Column("imported", wrap="fold"),
        Column("workers", number=True),
        Column("state"),
        Column("memory", number=True),
        Column("python", wrap="fold"),
    ]
    console_for(sys.stdout).print(grid(Table(columns, rows)))


def _states(starts: list[dict[str, Any]]) -> str:
    """`2 in use, 10 idle for 40 s`: as long as the one used last."""
    parts = []
    for state in ("in use", "starting", "idle"):
        seconds = [each["seconds"] for each in starts if each["state"] == state]
        if seconds:
            since = f" for {min(seconds):.0f} s" if state == "idle" else ""
            parts.append(f"{len(seconds)} {state}{since}")
    return ", ".join(parts)
