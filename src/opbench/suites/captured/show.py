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
        from opbench.suites.captured.api.report import summary, table

        calls = read_api(path)
        return [grid(table(calls)), Text(summary(calls))]
    from opbench.capture.reading import read
    from opbench.suites.captured.report import capture_parts

    return capture_parts(read(path))


def side_by_side(paths: Sequence[Path]) -> list[RenderableType]:
    from rich.text import Text

    from opbench.capture.reading import read
    from opbench.report.table import grid
    from opbench.suites.captured.findings import ranks

    listed = ranks.table([read(path) for path in paths])
    return [grid(listed), *map(Text, listed.notes)]


def shares_of_limit(run: Finished) -> dict[str, float]:
    """Hash of a case → the share of the machine's limit that it reached, where that is known."""
    if not run.store:
        return {}
    from opbench.store import Store
    from opbench.suites.peaks.roofline import of_run

    with Store.open(run.store, create=False) as store:
        results = store.results(run=store.find_run(run.id), samples=False)
        facts = store.environments({each.result.fingerprint for each in results})
        points, _ = of_run(store, results, facts)
    return {point.case.hash: point.share for point in points if point.share is not None}


def differences(base: Path, new: Path) -> list[RenderableType] | None:
    """What differs between two captures; None where a file is not one."""
    from opbench.capture.reading import level_of, read
    from opbench.report.table import grid
    from opbench.suites.captured.findings import differences as findings

    if not all(level_of(path) == "operators" for path in (base, new)):
        return None
    from rich.text import Text

    captures = read(base), read(new)
    listed = findings.table(findings.differences(*captures), *captures)
    table: list[RenderableType] = [grid(listed)] if listed.rows else []
    return [*table, *map(Text, listed.notes)]


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
    reached = shares_of_limit(run)
    for target in targets:
        found = replay_of(read(target), run.results)
        shares = {
            each.call.index: reached[each.result.case_hash]
            for each in found.calls
            if each.result.case_hash in reached
        }
        parts += replay_parts(found, gpu_peaks(run.store), shares)
    failed = [pair for pair in run.results if pair[1].failed]
    return [
        *parts,
        *problems(failed),
        Text(""),
        Text(summary(run)),
        Text(f"One call alone: opbench show CALL --in {targets[0]} [--script]"),
    ]
