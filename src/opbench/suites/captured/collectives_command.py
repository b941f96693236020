"""`opbench collectives ddp.rank*.jsonl`: the collectives of a captured step, replayed alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from opbench.errors import UNMEASURED, UserError, plural

if TYPE_CHECKING:
    from opbench.report.table import Table

STARTS = 5

#: Rank, number of ranks, rank on this machine.
Place = tuple[int, int, int]


def collectives(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE...", help="The captures of all ranks.", show_default=False
    ),
    starts: int = typer.Option(
        STARTS, min=1, help="How often the ranks are started; once under torchrun."
    ),
    timeout: float = typer.Option(
        60.0, min=1.0, metavar="SECONDS", help="How long ranks wait for each other in one call."
    ),
) -> int:
    """Replay a captured step's collectives, a process per rank.

    Under torchrun, each of its processes is one rank.
    """
    place = place_of(os.environ)
    try:
        return replay(files, starts, timeout, place)
    except UserError:
        if place is not None and place[0]:
            return 2  # rank 0 says it
        raise


def replay(files: Sequence[Path], starts: int, timeout: float, place: Place | None) -> int:
    from opbench.capture.reading import read
    from opbench.suites.captured.collectives import report
    from opbench.suites.captured.collectives.matching import by_rank, left_out, matched

    captures = by_rank([read(path) for path in files])
    found = matched(captures)
    if all(each.obstacle for each in found):
        measured: list[list[dict[str, Any]]] = []
    elif place is None:
        measured = started(files, starts, timeout, len(found))
    else:
        measured = [as_rank(files, *place, timeout)]
    replayed = report.replayed(found, measured)
    if place is None or place[0] == 0:
        more = "raise --starts" if place is None else f"without torchrun there are {STARTS}"
        show(report.table(replayed, left_out(captures), more))
    return 0 if any(each.alone for each in replayed) else UNMEASURED


def place_of(environment: Mapping[str, str]) -> Place | None:
    """As torchrun says; None without it."""
    try:
        rank, ranks = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        return rank, ranks, int(environment.get("LOCAL_RANK", rank))
    except (KeyError, ValueError):
        return None


def started(
    files: Sequence[Path], starts: int, timeout: float, collectives: int
) -> list[list[dict[str, Any]]]:
    from opbench.report.terminal.console import Console
    from opbench.suites.captured.collectives.starting import start

    measured = []
    with Console(stderr=True).status("") as status:
        for number in range(starts):
            status.update(f"start {number + 1} of {starts}: {plural(len(files), 'rank')}")
            measured.append(start(files, timeout, collectives))
    return measured


def as_rank(
    files: Sequence[Path], rank: int, ranks: int, local_rank: int, timeout: float
) -> list[dict[str, Any]]:
    if ranks != len(files):
        raise UserError(
            f"torchrun started {plural(ranks, 'rank')} for {plural(len(files), 'file')}; it takes "
            f"one for each: torchrun --nproc-per-node {len(files)}"
        )
    from opbench.suites.captured.collectives.rank import measure

    try:
        found = measure([str(path) for path in files], rank, local_rank, timeout, {})
    except RuntimeError as error:  # of torch: a rank did not come, or has gone
        raise UserError(" ".join(str(error).split())) from None
    return [asdict(each) for each in found]


def show(table: Table) -> None:
    from opbench.report.table import console_for, to_terminal

    to_terminal([table], console_for(sys.stdout))
