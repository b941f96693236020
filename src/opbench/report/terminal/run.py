"""The final table of a run: one row per case, one column per metric, then what went wrong."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from opbench.analyse.within import by_base, factors
from opbench.case import Case
from opbench.define import suites
from opbench.errors import first_of, plural
from opbench.report.naming import shortened
from opbench.report.pivot import pivots
from opbench.report.table import Cell, Column, Row, Table, console_for, printed, whole
from opbench.report.units import format_interval, format_ratio
from opbench.report.warnings.kinds import warning_kinds
from opbench.report.warnings.run_note import run_note
from opbench.result import LAST_WORDS, Result
from opbench.stats.verdict import MARGIN

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.plan.groups import Baseline
    from opbench.report.terminal.console import Console
    from opbench.running.recording import Finished

#: Reasons and warnings listed in full before the rest is counted.
LISTED = 12


def show(run: Finished, console: Console | None = None, targets: Sequence[str] = ()) -> None:
    """The table of a run, or what a suite of its `targets` prints in its place."""
    console = console or console_for(sys.stdout)
    own = suites.first(lambda suite: suite.account(run, targets))
    for part in parts(run) if own is None else [*own, *_true_of_all(run)]:
        console.print(part)


def _true_of_all(run: Finished) -> list[RenderableType]:
    """What is true of the whole run, in one line."""
    from rich.text import Text

    line = run_note([result for _, result in run.results]).line
    return [Text(line)] if line else []


def as_text(run: Finished, width: int = 120) -> str:
    return printed(lambda console: show(run, console), width)


def parts(run: Finished) -> list[RenderableType]:
    from rich.text import Text

    if not run.results:
        return [Text("No results.")]
    note = run_note([result for _, result in run.results])
    results = [(case, note.own(result)) for case, result in run.results]
    rest = [(case, result) for case, result in results if not _shown_by_suite(case)]
    return [
        *(part for table in (tables(rest, run.baseline) if rest else ()) for part in whole(table)),
        *suites.together(lambda suite: suite.tables(run)),
        *problems(rest),
        *(last_words_command(results) if run.store else ()),
        *warnings(results),
        *_true_of_all(run),
        Text(""),
        *(Text(f"{metric}: nothing measured; {why}") for metric, why in run.unmeasured.items()),
        Text(summary(run)),
    ]


def _shown_by_suite(case: Case) -> bool:
    return suites.some(lambda suite: suite.shows(case))


def tables(
    results: Sequence[tuple[Case, Result]],
    baseline: Baseline | None = None,
    margin: float = MARGIN,
) -> list[Table]:
    """What is compared with a baseline as grids, then the rest as one table. Where a case ran in
    several environments, or on several nodes, one table with a column for the factors."""
    measured = {(case.hash, result.metric) for case, result in results}
    if baseline is None or len(measured) < len(results):
        return [table(results, baseline)]
    compared, rest = by_base(results, baseline)
    if not compared:
        return [table(results)]
    return [*pivots(results, baseline, margin), *([table(rest)] if rest else [])]


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
    common, short = shortened(case.id for case in cases.values())
    # In a narrow terminal numbers may lose their ends, but never the case they belong to.
    columns = [Column(common or "case", wrap="fold", min_width=20, code=True)]
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
            by_metric = {m: by_key.get((case_hash, place, m)) for m in metrics}
            if not any(by_metric.values()):
                continue
            row: list[Cell | str] = [short[case.id]]
            row += [place[0]] if several else []
            row += [place[1]] if replicated else []
            row += [value_cell(result) for result in by_metric.values()]
            for metric in compared:
                ratio = ratios.get((case_hash, place, metric))
                row.append(format_ratio(ratio.value, ratio.low, ratio.high) if ratio else "")
            if noted:
                row.append(Cell(", ".join(codes(by_metric.values())), "warning"))
            rows.append(row)
    return Table(columns, rows, labels=1 + several + replicated)


#: Environment, and the node where that matters.
Place = tuple[str, str]


def places_of(results: Sequence[tuple[Case, Result]]) -> list[Place]:
    """Where results were measured; by node only if something was measured on more than one."""
    nodes: dict[tuple[str, str, str], set[str]] = {}
    for case, result in results:
        nodes.setdefault((case.hash, result.environment, result.metric), set()).add(result.node)
    replicated = any(len(there) > 1 for there in nodes.values())
    return list(dict.fromkeys((r.environment, r.node if replicated else "") for _, r in results))


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
        lines.append(Text.assemble((f"{first_of(dict.fromkeys(ids), 1)}: ", "bold"), reason))
    if len(by_reason) > LISTED:
        left = plural(len(by_reason) - LISTED, "more reason")
        lines.append(Text(f"… and {left}: opbench export"))
    return lines


def last_words_command(results: Sequence[tuple[Case, Result]]) -> Iterator[RenderableType]:
    """The command that shows the first traceback of stored results, or, where none has one, what
    the first case printed that ended its process."""
    from rich.text import Text

    texts = ("The whole traceback", "What it printed before it ended")
    found = (
        (text, case.id)
        for kind, text in zip(LAST_WORDS, texts, strict=True)
        for case, result in results
        if result.detail.get(kind) and result.outcome != "unsupported"
    )
    for text, case_id in islice(found, 1):
        yield Text(f"{text}: opbench show {shlex.quote(case_id)}")


def warnings(results: Sequence[tuple[Case, Result]]) -> list[RenderableType]:
    """Each kind of warning once: how many cases have it, and the worst of them."""
    from rich.text import Text

    return [
        Text.assemble(
            (f"{kind.code}: ", "yellow"),
            f"{plural(kind.count, 'case')}, e.g. {kind.worst}: {kind.text}",
        )
        for kind in warning_kinds((case.id, result) for case, result in results)
    ]


def summary(run: Finished) -> str:
    outcomes: dict[str, int] = {}
    for _, result in run.results:
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    where = f"; results in {run.store}" if run.store else "; not saved"
    return f"Run {run.id} {run.status}: {counts}{where}"
