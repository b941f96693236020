"""`opbench report [RUN] -o report.html`: everything about a run in one file."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench import children
from opbench.cli.completion import run_names
from opbench.cli.options import run_option
from opbench.errors import UserError, plural

if TYPE_CHECKING:
    from opbench.report.page.contents import Contents


def page(
    run: str = typer.Argument(
        "last", help="A run's id or name, last, or last~1.", autocompletion=run_names
    ),
    output: Path = typer.Option(
        None, "--output", "-o", metavar="FILE.html", help="The page. [default: report.html]"
    ),
    against: str = typer.Option(
        None,
        "--against",
        metavar="SIDE",
        autocompletion=run_names,
        help="Compare with this run, environment or commit. [default: the run's own comparison, "
        "or the run before]",
    ),
    charts: Path = typer.Option(
        None, "--charts", metavar="FOLDER", help="Write every chart here, as PNG and SVG."
    ),
    metric: str = typer.Option(None, help="Only this metric."),
    history: bool = typer.Option(True, "--history/--no-history", help="Show earlier runs."),
    show: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    store: str = run_option("store"),
) -> None:
    """Write a run as one HTML file: summary, charts, every case.

    With --charts and no --output, only the charts are written.
    """
    from opbench.report.page.contents import gather
    from opbench.report.page.garbage import gc_paused
    from opbench.report.page.page import save
    from opbench.store import Store

    if output is None and (charts is None or show):
        output = Path("report.html")
    began = time.monotonic()
    with gc_paused():
        with Store.open(store, create=False) as opened:
            contents = gather(opened, run, against=against, history=history, metric=metric)
        if not contents.results:
            name = contents.run.name or contents.run.id
            raise UserError(f"run {name} has no results to report")
        if charts is not None:
            _write_charts(contents, charts)
        if output is None:
            return
        save(contents, output)
    size = output.stat().st_size / 1e6
    took = time.monotonic() - began
    count = plural(len(contents.results), "result")
    typer.echo(f"{output}: {count}, {size:.1f} MB, {took:.1f} s", err=True)
    if show:
        children.leave_running()
        if not webbrowser.open(output.absolute().as_uri()):
            raise UserError(f"no browser found to open {output}; set BROWSER")


def undrawn(contents: Contents) -> str:
    """Why there is no chart."""
    if any(stored.result.ok for stored in contents.results):
        return "no benchmark was measured at two sizes, on two sides, or in an earlier run"
    return "no case has a value"


def _write_charts(contents: Contents, folder: Path) -> None:
    from opbench.report.charts.every import save

    written = save(contents, folder)
    if not written:
        raise UserError(f"nothing to draw: {undrawn(contents)}")
    typer.echo(f"{plural(len(written), 'file')} in {folder}", err=True)
