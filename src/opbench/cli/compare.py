"""`opbench compare BASE NEW`: what changed between two sets of stored results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench.cli.completion import run_names
from opbench.cli.options import (
    FAIL_ON,
    FUNCTIONS,
    GROUP,
    JUNIT,
    MARGIN,
    MARKDOWN,
    MATCH,
    RAW,
    checked,
    run_option,
)
from opbench.define.reading import names

if TYPE_CHECKING:
    from opbench.analyse.compare import Comparison
    from opbench.analyse.sides import Side
    from opbench.store import Store
    from opbench.store.records import StoredResult


def _two(text: str) -> str:
    if text != "2":
        raise ValueError(f"expected 2, found {text!r}")
    return text


def compare(
    sides: list[str] = typer.Argument(
        None,
        metavar="[BASE NEW]",
        help="Runs (id, name, last, last~1), RUN:ENV, environments, commits, machines or devices; "
        "or two captures.",
        autocompletion=run_names,
    ),
    last: str = typer.Option(
        None, "--last", metavar="2", callback=checked(_two), help="The latest two runs: --last 2."
    ),
    col: str = typer.Option(None, "--col", metavar="KEY", help="Compare the values of this key."),
    row: list[str] = typer.Option([], "--row", metavar="KEYS", help="Keys that identify a row."),
    filter: str = typer.Option(
        "", "--filter", metavar="KEY=VALUE", help="Only results with this value."
    ),
    metric: list[str] = typer.Option([], "--metric", metavar="NAMES", help="Only these metrics."),
    margin: str = MARGIN,
    across_machines: bool = typer.Option(
        False, "--across-machines", help="Compare results of different machines."
    ),
    fail_on: list[str] = FAIL_ON,
    format: str = typer.Option(
        "terminal", "--format", "-f", metavar="terminal|md|json", help="Format of the output."
    ),
    markdown: Path = MARKDOWN,
    junit: Path = JUNIT,
    functions: bool = FUNCTIONS,
    match: str = MATCH,
    group: str = GROUP,
    raw: bool = RAW,
    store: str = run_option("store"),
) -> int:
    """Compare stored results: ratio and verdict for every case."""
    from opbench.analyse.gate import Gate
    from opbench.cli.comparison_output import FORMATS, check_files, give
    from opbench.cli.report_output import check_format

    gate = Gate.parse(fail_on)
    check_format(format, FORMATS)
    check_files(markdown, junit)
    if _compare_files(list(sides or [])):
        return 0
    wanted = _wanted(list(sides or []), last, col)
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        chosen = Selection(col, names(row), filter, names(metric), float(margin), across_machines)
        compared = comparisons(opened, wanted, chosen)
        code = give(compared, gate, markdown, junit, format)
        if functions:
            from opbench.analyse.functions import FunctionView
            from opbench.cli.compare_functions import show_functions

            show_functions(compared, FunctionView(match, group, raw))
    return code


def _compare_files(sides: list[str]) -> bool:
    """Whether the sides are two files that a suite compares, such as captures; if so, prints it."""
    if len(sides) != 2 or not all(Path(side).is_file() for side in sides):
        return False
    from opbench.define import suites
    from opbench.report.table import console_for

    base, new = map(Path, sides)
    parts = suites.first(lambda suite: suite.compare_files(base, new))
    if parts is None:
        return False
    console = console_for(sys.stdout)
    for part in parts:
        console.print(part)
    return True


def _wanted(sides: list[str], last: str | None, col: str | None) -> list[str]:
    """The sides to compare: two names, one run with --col, or --last 2."""
    from opbench.errors import UserError

    if last:
        if sides:
            raise UserError("--last 2 names both sides; leave out BASE and NEW")
        sides = ["last~1", "last"]
    if not 1 <= len(sides) <= 2:
        raise UserError("compare takes two sides, or one run and --col KEY, or --last 2")
    if len(sides) == 2 and col is not None:
        raise UserError("--col compares values within one run; name one run, or leave it out")
    return sides


@dataclass(frozen=True)
class Selection:
    """What to compare, of the results of the sides."""

    col: str | None = None
    rows: tuple[str, ...] = ()
    filter: str = ""
    metrics: tuple[str, ...] = ()
    margin: float = 0.03
    across_machines: bool = False


def comparisons(store: Store, sides: list[str], selection: Selection) -> list[Comparison]:
    """One comparison of two sides, or one per further value of `col` within a single side."""
    from opbench.analyse.projection import check_key, columns
    from opbench.analyse.sides import different, find_side, labels_of, same_machine, side_names
    from opbench.analyse.within import ENVIRONMENT, bases_among, compared_key
    from opbench.errors import UserError

    chosen = [find_side(store, text) for text in sides]
    if len(chosen) == 2:
        different(*chosen)
    everything = [stored for side in chosen for stored in side.results]
    for key in selection.rows:
        check_key(key, everything)
    kept = [_kept(side, selection, everything) for side in chosen]
    if len(chosen) == 2:
        if not selection.across_machines:
            same_machine(*chosen)
        return [_common(_compared(side_names(*chosen), kept[0], kept[1], selection))]
    own, bases = compared_key(chosen[0].run, kept[0])
    col = selection.col or own or ENVIRONMENT
    by_value = columns(kept[0], col)
    if len(by_value) < 2 and not (selection.col or own):
        raise UserError(
            f"'{sides[0]}' is one run in one environment; name a second side, or --col KEY"
        )
    if len(by_value) < 2:
        raise UserError(f"'{col}' has only one value here: {', '.join(by_value)}")
    labels = labels_of(chosen[0].run) if col == ENVIRONMENT else {}
    found = [
        _compared(
            (labels.get(base, base), labels.get(name, name)), by_value[base], each, selection, col
        )
        for base in bases_among(by_value, bases if col == own else ())
        for name, each in by_value.items()
        if name != base
    ]
    shared = [comparison for comparison in found if comparison.rows]
    return shared or [_common(comparison) for comparison in found]


def _kept(
    side: Side, selection: Selection, everything: Sequence[StoredResult]
) -> list[StoredResult]:
    from opbench.analyse.projection import Filter
    from opbench.errors import UserError, unknown

    keep = Filter.parse(selection.filter)
    keep.check(everything)
    kept = keep.keep(side.results)
    if not kept:
        raise UserError(f"the filter '{selection.filter}' leaves nothing of '{side.name}'")
    measured = dict.fromkeys(stored.result.metric for stored in kept)
    for metric in selection.metrics:
        if metric not in measured:
            raise UserError(f"{unknown('metric', metric, measured)} (in '{side.name}')")
    return [s for s in kept if not selection.metrics or s.result.metric in selection.metrics]


def _compared(
    names: tuple[str, str],
    base: Sequence[StoredResult],
    new: Sequence[StoredResult],
    selection: Selection,
    col: str = "",
) -> Comparison:
    from opbench.analyse.compare import compare as compared

    margin, rows = selection.margin, selection.rows
    return compared(base, new, names=names, margin=margin, rows=rows, without=col)


def _common(comparison: Comparison) -> Comparison:
    """The comparison, unless its sides share nothing."""
    from opbench.errors import UserError

    if not comparison.rows:
        raise UserError(
            f"'{comparison.base}' and '{comparison.new}' have no case and metric in common; "
            "measure the same cases in both"
        )
    return comparison
