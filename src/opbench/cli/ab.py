"""`opbench ab`: two environments or two commits against each other, interleaved on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from opbench.cli.quantities import axes as parse_axes
from opbench.cli.quantities import checked, duration, names, share


def ab(
    targets: list[str] = typer.Argument(
        ..., metavar="SUITE|FILE...", help="What to measure on both sides."
    ),
    env: list[str] = typer.Option(
        [], "--env", metavar="NAME", help="An environment; twice. See `opbench env`."
    ),
    commit: list[str] = typer.Option(
        [], "--commit", metavar="REV", help="A commit of the project you are in; twice."
    ),
    keep: list[str] = typer.Option([], "-k", metavar="SUBSTRING", help="Only these cases."),
    axis: list[str] = typer.Option([], "-a", "--axis", metavar="AXIS=V1,V2", help="Axis values."),
    metric: list[str] = typer.Option([], "--metric", metavar="NAMES", help="[default: time]"),
    stage: list[str] = typer.Option([], "--stage", metavar="NAMES", help="Only these stages."),
    threads: int = typer.Option(None, min=1, help="Threads per case. [default: 1]"),
    precision: str = typer.Option(
        None, metavar="0.5%", callback=checked(share), help="Of the ratio. [default: 0.5%]"
    ),
    max_time_per_case: str = typer.Option(
        None, metavar="5s", callback=checked(duration), help="Per side. [default: 5s]"
    ),
    margin: str = typer.Option(
        "3%", callback=checked(share), help="Same: the whole interval lies within this of 1."
    ),
    fail_on: list[str] = typer.Option(
        [], "--fail-on", metavar="slower[:3%]", help="Exit with 1 if a case got this verdict."
    ),
    markdown: Path = typer.Option(None, "--markdown", help="Write a pull-request comment here."),
    junit: Path = typer.Option(None, "--junit", help="Write JUnit XML here."),
    store: str = typer.Option(
        None, metavar="URL", help="Where results go. [default: .opbench/results.db]"
    ),
    name: str = typer.Option(None, help="A name for this run."),
    no_save: bool = typer.Option(False, "--no-save", help="Show the comparison, store nothing."),
) -> int:
    """Compare two environments or commits: both alive at once, interleaved block by block."""
    from rich.console import Console

    from opbench.analyse.gate import Gate
    from opbench.api.ab import ab as run_ab
    from opbench.cli.comparison_output import check_files, give
    from opbench.cli.env import ready
    from opbench.cli.progress import progress

    gate = Gate.parse(fail_on)
    check_files(markdown, junit)
    options: dict[str, Any] = {
        "keep": tuple(keep),
        "axes": parse_axes(axis),
        "metrics": names(metric),
        "stages": names(stage),
        "threads": threads,
        "precision": precision,
        "max_time_per_case": max_time_per_case,
        "name": name,
    }
    console = Console(stderr=True)
    ready(env, console)
    with progress(console) as listener:
        finished, comparison = run_ab(
            targets,
            environments=env,
            commits=commit,
            options=options,
            store=store,
            save=not no_save,
            listener=listener,
            margin=float(margin),
        )
    code = give([comparison], gate, markdown, junit)
    where = f"results in {finished.store}" if finished.store else "not saved"
    print(f"Run {finished.id} {finished.status}; {where}")
    if finished.status == "interrupted":
        return 130
    return code or (1 if finished.failures else 0)
