"""The files of a sweep, statistics as CSV and the chart: after a run, or `opbench report sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench.cli.options import run_option
from opbench.cli.report_output import suite_results, write_to
from opbench.errors import UserError
from opbench.files import component

if TYPE_CHECKING:
    from opbench.case import Case
    from opbench.result import Result
    from opbench.running.recording import Finished


def names_of(results: Iterable[tuple[Case, Result]]) -> list[str]:
    """The sweeps among the results."""
    return list(dict.fromkeys(case.name for case, _ in results if case.suite == "sweep"))


def write_files(
    results: Sequence[tuple[Case, Result]], environment: Iterable[str], folder: Path
) -> list[Path]:
    """`NAME.csv` and `NAME.png` for each sweep; the files that were written."""
    written: list[Path] = []
    lines = list(environment)
    for name in names_of(results):
        own = [(case, result) for case, result in results if case.name == name]
        written.append(write_csv(own, lines, folder / f"{component(name)}.csv"))
        chart = folder / f"{component(name)}.png"
        if write_chart(own, chart):
            written.append(chart)
    return written


def write_csv(
    results: Sequence[tuple[Case, Result]], environment: Iterable[str], path: Path
) -> Path:
    from opbench.suites.sweeps import csv_file as sweep_csv

    write_to(path, lambda stream: sweep_csv.write(results, stream, environment))
    return path


def write_chart(results: Sequence[tuple[Case, Result]], path: Path) -> bool:
    from opbench.suites.sweeps import charts as sweep_charts

    try:
        return sweep_charts.save(results, path)
    except UserError:
        raise
    except ValueError:
        raise UserError(f"{path}: a chart is written as .png, .svg, .html or .json") from None


def files_after_run(run: Finished) -> list[Path]:
    """What `opbench run` writes for the sweeps among its results."""
    if not names_of(run.results):
        return []
    environment: list[str] = []
    if run.store:
        from opbench.report.environment import environment_lines
        from opbench.store import Store

        with Store.open(run.store, create=False) as opened:
            environment = environment_lines(opened.find_run(run.id))
    return write_files(run.results, environment, Path())


def sweep(
    run: str = typer.Argument("", metavar="[RUN]", help="A run. [default: the latest sweep]"),
    output: Path = typer.Option(
        None, "--output", "-o", metavar="FILE.csv", help="[default: NAME.csv of each sweep]"
    ),
    chart: Path = typer.Option(
        None, "--chart", metavar="FILE.png|svg|html|json", help="[default: NAME.png]"
    ),
    store: str = run_option("store"),
) -> None:
    """Statistics of a sweep as CSV, and its times as charts."""
    results, environment = _stored(run, store)
    if output is None and chart is None:
        for path in write_files(results, environment, Path()):
            print(path)
        return
    if output is not None:
        print(write_csv(results, environment, output))
    if chart is not None:
        if not write_chart(results, chart):
            raise UserError("no chart: nothing of this sweep was timed")
        print(chart)


def _stored(run: str, store: str | None) -> tuple[list[tuple[Case, Result]], list[str]]:
    missing = "a sweep; measure one: opbench run sweep.toml"
    (results,), environment = suite_results(store, [run] if run else [], ("sweep",), missing)
    own = [(stored.case, stored.result) for stored in results if stored.case.suite == "sweep"]
    return own, environment
