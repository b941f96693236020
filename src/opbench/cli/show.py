"""`opbench show CASE`: what a case is, what was measured of it, and its standalone script."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench.cli.completion import case_ids
from opbench.cli.options import GROUP, MATCH, RAW, run_option

if TYPE_CHECKING:
    from opbench.analyse.functions import FunctionView
    from opbench.case import Case
    from opbench.store.records import StoredResult


def show(
    cases: list[str] = typer.Argument(
        ...,
        metavar="CASE|FILE...",
        help="An id, a hash, or a unique part of one; or files of recorded calls.",
        autocompletion=case_ids,
    ),
    targets: list[str] = typer.Option(
        [], "--in", metavar="SUITE|FILE", help="Search these instead of the store and all suites."
    ),
    script: bool = typer.Option(
        False, "--script", help="Print a standalone script that needs no opbench."
    ),
    functions: bool = typer.Option(
        False, "--functions", help="Instructions by function (needs --metric instructions)."
    ),
    match: str = MATCH,
    group: str = GROUP,
    raw: bool = RAW,
    inclusive: bool = typer.Option(
        False, "--inclusive", help="With --functions: each with all the functions it calls."
    ),
    lines: bool = typer.Option(
        False, "--lines", help="Instructions by line of C++, where debug information has them."
    ),
    flame: Path = typer.Option(
        None, "--flame", metavar="FILE.svg", help="Write the counts as a flame graph."
    ),
    callgrind: Path = typer.Option(
        None, "--callgrind", metavar="FILE", help="Write the counts for KCachegrind or speedscope."
    ),
    store: str = run_option("store"),
) -> None:
    """Show a case: its source, its results, or its script."""
    if all(Path(case).is_file() for case in cases) and _show_files([*map(Path, cases)]):
        return
    from opbench.analyse.functions import FunctionView
    from opbench.errors import UserError
    from opbench.report.script import script as script_of

    if len(cases) > 1:
        raise UserError("one case at a time; several files of recorded calls are shown together")
    chosen, results = _find(cases[0], targets, store)
    if callgrind or flame:
        _write_counts(_counted(chosen, results), callgrind, flame)
    elif functions or lines or inclusive:
        _functions(_counted(chosen, results), FunctionView(match, group, raw), inclusive, lines)
    elif script:
        print(script_of(chosen), end="")
    else:
        _describe(chosen, _with_samples(results, store))


def _show_files(paths: list[Path]) -> bool:
    """Print what a suite says about files of its own; False for any others."""
    from opbench.define import suites

    parts = suites.first(lambda suite: suite.describe_files(paths))
    if parts is None:
        return False
    from opbench.report.table import console_for

    console = console_for(sys.stdout)
    for part in parts:
        console.print(part)
    return True


def _find(text: str, targets: list[str], store: str | None) -> tuple[Case, list[StoredResult]]:
    """A stored case with its results, or a case that could be run."""
    from opbench.cli.lookup import among, defined, spelled, stored, stored_ids

    known = None if targets else stored(text, store)
    if known:
        return known
    others = partial(stored_ids, store) if not targets else list
    return spelled(text, targets) or among(text, defined(targets), others), []


def _with_samples(results: list[StoredResult], store: str | None) -> list[StoredResult]:
    """With their samples where a warning says to look at them here: they are much to read."""
    from opbench.report.starts import SHOWN
    from opbench.store import Store

    if not any(warning.code in SHOWN for each in results for warning in each.result.warnings):
        return results
    with Store.open(store, create=False) as opened:
        return opened.results(case_id=results[0].case.id, samples=True)


def _counted(case: Case, results: list[StoredResult]) -> StoredResult:
    """The latest counts of the case."""
    from opbench.errors import UserError

    counted = [s for s in results if s.result.ok and s.result.metric == "instructions"]
    if not counted:
        raise UserError(
            f"no instruction counts of {case.id} are stored; run it with --metric instructions"
        )
    return counted[-1]


def _write_counts(counted: StoredResult, callgrind: Path | None, flame: Path | None) -> None:
    from opbench.analyse.functions import stats_of
    from opbench.errors import plural
    from opbench.files import writing
    from opbench.report.flame import flame_graph

    stats = stats_of(counted.result, counted.case)
    calls = plural(stats.number_per_run, "call")
    if callgrind is not None:
        stats.write_callgrind(callgrind)
        print(f"{callgrind}: {calls}; open it with kcachegrind, speedscope or callgrind_annotate")
    if flame is not None:
        text = flame_graph(stats, counted.case.id)
        with writing(flame) as path:
            path.write_text(text, encoding="utf-8")
        print(f"{flame}: {calls}; open it in a browser")


def _functions(counted: StoredResult, view: FunctionView, inclusive: bool, by_line: bool) -> None:
    """The latest counts of the case, by function or by line."""
    from rich.text import Text

    from opbench.analyse.functions import by_function, stats_of
    from opbench.errors import UserError
    from opbench.report.functions import breakdown
    from opbench.report.table import console_for

    stats = stats_of(counted.result, counted.case)
    console = console_for(sys.stdout)
    console.print(Text(counted.case.id, style="bold"), Text(counted.run_id, style="dim"))
    whole = stats.counts() / stats.number_per_run
    if by_line:
        rows = stats.lines()
        if not rows:
            raise UserError(
                "no library that was counted has debug information of lines; "
                "build yours with -g (statements in C++ have it)"
            )
        console.print(breakdown(rows, of=whole, named="line"))
    elif inclusive:
        console.print(breakdown(by_function(stats, view, inclusive=True), of=whole))
    else:
        console.print(breakdown(by_function(stats, view)))
    console.print(Text(str(counted.result.detail.get("source") or "")))


def _describe(case: Case, results: list[StoredResult]) -> None:
    from rich.syntax import Syntax
    from rich.text import Text

    from opbench.report import starts
    from opbench.report.terminal.console import Console
    from opbench.report.units import format_interval
    from opbench.result import LAST_WORDS

    console = Console(highlight=False)
    console.print(Text(case.id, style="bold"), Text(case.hash, style="dim"))
    facts = {
        "language": case.language,
        "framework": case.framework,
        "runtime": case.runtime,
        "device": case.device,
        "threads": case.threads,
        "seed": case.seed,
        "timing": case.timing_mode,
    }
    console.print(Text("  ".join(f"{name}={value}" for name, value in facts.items())))
    if case.unsupported:
        console.print(Text(f"unsupported: {case.unsupported}"))
    lexer = {"cpp": "cpp"}.get(case.language, "python")
    if case.prelude:
        console.print(Text("\n# Python, run first", style="dim"))
        console.print(Syntax(case.prelude, "python", background_color="default", word_wrap=True))
    for title, source in (
        ("module level", case.globals),
        ("setup", case.setup),
        ("before each call, untimed", case.before),
        ("statement, timed", case.stmt),
    ):
        if source.strip():
            console.print(Text(f"\n# {title}", style="dim"))
            console.print(Syntax(source, lexer, background_color="default", word_wrap=True))
    console.print()
    for stored in results:
        result = stored.result
        value = format_interval(result.estimate, result.low, result.high, result.unit)
        text = value if result.ok else result.outcome_text
        console.print(Text(f"{stored.run_id}  {result.environment}  {result.metric}  {text}"))
        for warning in result.warnings:
            console.print(Text(f"    {warning.code}: {warning.text}", style="yellow"))
            for line in starts.lines(warning.code, result):
                console.print(Text(f"      {line}"))
        for kind in LAST_WORDS:
            for line in str(result.detail.get(kind) or "").splitlines():
                console.print(Text(f"    {line}", style="dim"))
    if not results:
        console.print(Text("Not measured yet."))
