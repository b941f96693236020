"""The final table of a run: one row per case, one column per metric, then what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from opbench.analyse.within import factors
from opbench.case import Case
from opbench.define import suites
from opbench.report.table import Cell, Column, Row, Table, grid, printed
from opbench.report.units import format_interval, format_ratio
from opbench.result import Result

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from opbench.plan.groups import Baseline
    from opbench.running.recording import Finished

PIPE_WIDTH = 160

#: Reasons and warnings listed in full before the rest is counted.
LISTED = 12


def show(run: Finished, console: Console | None = None, targets: Sequence[str] = ()) -> None:
    """The table of a run, or what a suite of its `targets` prints in its place."""
    from rich.console import Console as RichConsole

    console = console or RichConsole(highlight=False, width=width_for(sys.stdout))
    own = suites.first(lambda suite: suite.account(run, targets))
    for part in parts(run) if own is None else own:
        console.print(part)


def width_for(stream: TextIO) -> int | None:
    """A file or a pipe has no width: long ids need not be broken there."""
    return None if stream.isatty() else PIPE_WIDTH


def as_text(run: Finished, width: int = 120) -> str:
    return printed(lambda console: show(run, console), width)


def parts(run: Finished) -> list[RenderableType]:
    from rich.text import Text

    if not run.results:
        return [Text("No results.")]
    found: list[RenderableType] = [grid(table(run.results, run.baseline))]
    found += problems(run.results)
    found += warnings(run.results)
    found += suites.together(lambda suite: suite.tables(run))
    found.append(Text(""))
    found.append(Text(summary(run)))
    return found


def table(results: Sequence[tuple[Case, Result]], baseline: Baseline | None = None) -> Table:
    """One row per case and place, one column per metric."""
    cases = {case.hash: case for case, _ in results}
    metrics = list(dict.fromkeys(result.metric for _, result in results))
    places = places_of(results)
    by_key = {(c.hash, place_of(r, places), r.metric): r for c, r in results}
    ratios = {
        (result.case_hash, place_of(result, places), result.metric): ratio
        for result, ratio in (factors(results, baseline) if baseline else ())
    }
    compared = [metric for metric in metrics if any(key[2] == metric for key in ratios)]
    versus = f"vs {baseline.value}" if baseline else ""
    several = len({environment for environment, _ in places}) > 1
    replicated = any(node for _, node in places)
    noted = any(result.warnings for _, result in results)
    # In a narrow terminal numbers may lose their ends, but never the case they belong to.
    columns = [Column("case", wrap="fold", min_width=20, code=True)]
    columns += [Column("environment")] if several else []
    columns += [Column("node")] if replicated else []
    columns += [Column(metric, number=True, wrap="never") for metric in metrics]
    columns += [
        Column(f"{metric} {versus}" if len(compared) > 1 else versus, number=True)
        for metric in compared
    ]
    columns += [Column("note", wrap="fold")] if noted else []
    rows: list[Row] = []
    for case_hash, case in cases.items():
        for place in places:
            found = {m: by_key.get((case_hash, place, m)) for m in metrics}
            if not any(found.values()):
                continue
            row: list[Cell | str] = [case.id]
            row += [place[0]] if several else []
            row += [place[1]] if replicated else []
            row += [value_cell(result) for result in found.values()]
            for metric in compared:
                ratio = ratios.get((case_hash, place, metric))
                row.append(format_ratio(ratio.value, ratio.low, ratio.high) if ratio else "")
            if noted:
                row.append(Cell(", ".join(codes(found.values())), "warning"))
            rows.append(row)
    return Table(columns, rows)


#: Environment, and the node where that matters.
Place = tuple[str, str]


def places_of(results: Sequence[tuple[Case, Result]]) -> list[Place]:
    """Where results were measured; by node only if something was measured on more than one."""
    nodes: dict[tuple[str, str, str], set[str]] = {}
    for case, result in results:
        nodes.setdefault((case.hash, result.environment, result.metric), set()).add(result.node)
    replicated = any(len(there) > 1 for there in nodes.values())
    found = ((r.environment, r.node if replicated else "") for _, r in results)
    return list(dict.fromkeys(found))


def place_of(result: Result, places: Sequence[Place]) -> Place:
    here = (result.environment, result.node)
    return here if here in places else (result.environment, "")


def codes(results: Iterable[Result | None]) -> list[str]:
    return list(dict.fromkeys(w.code for result in results if result for w in result.warnings))


def value_cell(result: Result | None) -> Cell:
    if result is None:
        return Cell("")
    if result.ok:
        return Cell(format_interval(result.estimate, result.low, result.high, result.unit))
    name = f"crashed {result.reason}" if result.outcome == "crashed" else result.outcome
    return Cell(name, "muted" if result.outcome == "unsupported" else "failed")


def problems(results: Sequence[tuple[Case, Result]]) -> list[RenderableType]:
    """What failed, and why: each reason once, with the cases it stopped."""
    from rich.text import Text

    by_reason: dict[str, list[str]] = {}
    for case, result in results:
        if not result.ok:
            by_reason.setdefault(result.outcome_text, []).append(case.id)
    lines: list[RenderableType] = []
    for reason, ids in list(by_reason.items())[:LISTED]:
        first = ids[0] + (f" and {len(set(ids)) - 1} more" if len(set(ids)) > 1 else "")
        lines.append(Text.assemble((f"{first}: ", "bold"), reason))
    if len(by_reason) > LISTED:
        lines.append(Text(f"… and {len(by_reason) - LISTED} more reasons: opbench export"))
    return lines


def warnings(results: Sequence[tuple[Case, Result]]) -> list[RenderableType]:
    """Each kind of warning once, with what to do and how many cases it touches."""
    from rich.text import Text

    by_code: dict[str, tuple[str, set[str]]] = {}
    for case, result in results:
        for warning in result.warnings:
            _, ids = by_code.setdefault(warning.code, (warning.text, set()))
            ids.add(case.id)
    return [
        Text.assemble(
            (f"{code}: ", "yellow"),
            f"{len(ids)} case{'s' if len(ids) > 1 else ''}, e.g. {min(ids)}: {text}",
        )
        for code, (text, ids) in by_code.items()
    ]


def summary(run: Finished) -> str:
    outcomes: dict[str, int] = {}
    for _, result in run.results:
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    where = f"; results in {run.store}" if run.store else "; not saved"
    return f"Run {run.id} {run.status}: {counts}{where}"
