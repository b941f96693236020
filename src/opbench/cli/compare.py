"""`opbench compare BASE NEW`: what changed between two sets of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench.cli.quantities import checked, names, share

if TYPE_CHECKING:
    from opbench.analyse.compare import Comparison
    from opbench.store import Store


def compare(
    sides: list[str] = typer.Argument(
        None,
        metavar="[BASE NEW]",
        help="Runs (id, name, last, last~1), RUN:ENV, environments, commits, machines or devices.",
    ),
    last: int = typer.Option(None, "--last", min=2, max=2, help="The latest two runs: --last 2."),
    col: str = typer.Option(None, "--col", metavar="KEY", help="Compare the values of this key."),
    row: list[str] = typer.Option([], "--row", metavar="KEYS", help="Keys that make a row."),
    filter: str = typer.Option("", "--filter", metavar="KEY:VALUE", help="Keep only these."),
    metric: list[str] = typer.Option([], "--metric", metavar="NAMES", help="Only these metrics."),
    margin: str = typer.Option(
        "3%", callback=checked(share), help="Differences below this are called same."
    ),
    across_machines: bool = typer.Option(
        False, "--across-machines", help="Compare results of different machines."
    ),
    fail_on: list[str] = typer.Option(
        [], "--fail-on", metavar="slower[:3%]", help="Exit with 1 if a case got this verdict."
    ),
    markdown: Path = typer.Option(None, "--markdown", help="Write a pull-request comment here."),
    junit: Path = typer.Option(None, "--junit", help="Write JUnit XML here."),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> int:
    """Compare stored results: ratio, interval and verdict for every case."""
    from opbench.analyse.gate import Gate
    from opbench.cli.comparison_output import give

    gate = Gate.parse(fail_on)
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        found = _comparisons(
            opened,
            list(sides or []) or ([f"last~{last - 1}", "last"] if last else []),
            col,
            names(row),
            filter,
            names(metric),
            float(margin),
            across_machines,
        )
    return give(found, gate, markdown, junit)


def _comparisons(
    store: Store,
    sides: list[str],
    col: str | None,
    rows: tuple[str, ...],
    filter: str,
    metrics: tuple[str, ...],
    margin: float,
    across: bool,
) -> list[Comparison]:
    from opbench.analyse.compare import compare_pairs
    from opbench.analyse.projection import Filter, columns, pairs
    from opbench.analyse.sides import environments_of, find_side, same_machine
    from opbench.define.definition import DefineError

    if len(sides) == 1 and col is None:
        run = store.find_run(sides[0])
        found = environments_of(store, run)
        if len(found) < 2:
            raise DefineError(
                f"'{sides[0]}' is one run in one environment; name a second side, or --col KEY"
            )
        col = "environment"
    if not sides or len(sides) > 2:
        raise DefineError("compare takes two sides, or one run and --col KEY, or --last 2")
    chosen = [find_side(store, text) for text in sides]
    if len(chosen) == 2 and not across:
        same_machine(*chosen)
    keep = Filter.parse(filter)
    kept = [
        [s for s in keep.keep(side.results) if not metrics or s.result.metric in metrics]
        for side in chosen
    ]
    if len(chosen) == 2:
        matched = pairs(kept[0], kept[1], rows, "")
        if not matched:
            raise DefineError(f"'{chosen[0].name}' and '{chosen[1].name}' have no case in common")
        return [compare_pairs(matched, names=(chosen[0].name, chosen[1].name), margin=margin)]
    assert col is not None
    by_value = columns(kept[0], col)
    if len(by_value) < 2:
        raise DefineError(f"'{col}' has only one value here: {', '.join(by_value)}")
    (base, ours), *others = by_value.items()
    return [
        compare_pairs(pairs(ours, theirs, rows, col), names=(base, name), margin=margin)
        for name, theirs in others
    ]
