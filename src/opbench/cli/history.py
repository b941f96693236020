"""`opbench history CASE`: every stored run a point, and where its level changed."""

from __future__ import annotations

import typer

from opbench.cli.completion import case_ids
from opbench.cli.options import AT_LEAST_1, run_option


def history(
    case: str = typer.Argument(
        ..., help="An id, a hash, or a unique part of one.", autocompletion=case_ids
    ),
    metric: str = typer.Option("time", "--metric", help="The metric to show."),
    last: str = typer.Option(
        None, "--last", metavar="N", callback=AT_LEAST_1, help="The latest N runs only."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print points and changes as JSON."),
    store: str = run_option("store"),
) -> None:
    """Show one case over all runs, and where its level changed."""
    from opbench.analyse.history import history as analysed
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        past = analysed(opened, opened.find_cases(case)[0].id, metric, int(last) if last else None)
    if as_json:
        from opbench.report.history_json import as_json as text_of

        print(text_of(past))
        return
    from opbench.report.history import show

    show(past)
