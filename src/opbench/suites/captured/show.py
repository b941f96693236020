"""What the commands print of captures: the table of a file, the account of its replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.running.recording import Finished
    from opbench.suites.peaks.limits import Peaks


def describe(path: Path) -> list[RenderableType]:
    from opbench.capture.reading import level_of, read_api

    if level_of(path) == "api":
        from rich.text import Text

        from opbench.report.table import grid
        from opbench.suites.captured.api_report import summary, table

        calls = read_api(path)
        return [grid(table(calls)), Text(summary(calls))]
    from opbench.capture.reading import read
    from opbench.suites.captured.report import capture_parts

    return capture_parts(read(path))


def gpu_peaks(store: str) -> Peaks | None:
    """What `opbench peaks --device cuda` found last; None where it never ran."""
    if not store:
        return None
    from opbench.store import Store
    from opbench.suites.peaks.limits import peaks_of, results_of

    with Store.open(store, create=False) as opened:
        measured = [stored for stored in results_of(opened) if stored.case.device != "cpu"]
        facts = opened.environments({stored.result.fingerprint for stored in measured})
    return max(peaks_of(measured, facts).values(), key=lambda each: each.created, default=None)


def replay(run: Finished, targets: Sequence[str]) -> list[RenderableType] | None:
    """The account of a run of captures, instead of its long table; None where something else was
    run too."""
    from opbench.capture.reading import level_of

    if not all(Path(target).is_file() and level_of(target) == "operators" for target in targets):
        return None
    from rich.text import Text

    from opbench.capture.reading import read
    from opbench.report.terminal.run import problems, summary
    from opbench.suites.captured.account import replay_of
    from opbench.suites.captured.report import replay_parts

    parts: list[RenderableType] = []
    for target in targets:
        parts += replay_parts(replay_of(read(target), run.results), gpu_peaks(run.store))
    failed = [pair for pair in run.results if pair[1].outcome not in ("ok", "unsupported")]
    return [
        *parts,
        *problems(failed),
        Text(""),
        Text(summary(run)),
        Text(f"Each call by itself: opbench show CALL --in {targets[0]} [--script]"),
    ]
