"""`opbench history CASE`: every stored run a point, and where its level changed."""

from __future__ import annotations

import typer


def history(
    case: str = typer.Argument(..., help="An id, a hash, or a unique part of one."),
    metric: str = typer.Option("time", "--metric", help="Which metric."),
    last: int = typer.Option(None, "--last", min=1, metavar="N", help="The latest N runs only."),
    as_json: bool = typer.Option(False, "--json", help="For programs: points and changes."),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> None:
    """Show one case over all stored runs, with the changes of its level."""
    from opbench.analyse.history import history as analysed
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        found = analysed(opened, opened.find_cases(case)[0].id, metric, last)
    if as_json:
        from opbench.report.history_json import as_json as text_of

        print(text_of(found))
        return
    from opbench.report.history import show

    show(found)
