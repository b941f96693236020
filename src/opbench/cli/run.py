"""`opbench run`: measure suites and files."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from opbench.cli.quantities import axes as parse_axes
from opbench.cli.quantities import checked, cpu_list, duration, names, share
from opbench.store.masking import without_password

PLAN = "What to run"
SAMPLING = "How to sample"
KEEPING = "What to keep"


def run(
    targets: list[str] = typer.Argument(
        None,
        metavar="[SUITE | FILE.py | FILE.toml | FILE.json | CAPTURE.jsonl]...",
        help="Suites (see `opbench list`) and files. Without any: a tour of about two minutes.",
        show_default=False,
    ),
    keep: list[str] = typer.Option(
        [], "-k", metavar="SUBSTRING", help="Only cases whose id contains this."
    ),
    axis: list[str] = typer.Option(
        [], "-a", "--axis", metavar="AXIS=V1,V2", help="Use these values on this axis."
    ),
    baseline: str = typer.Option(
        None, metavar="AXIS=VALUE", help="Compare the other values of this axis with this one."
    ),
    metric: list[str] = typer.Option(
        [],
        "--metric",
        metavar="NAMES",
        help="time, memory, instructions; several with commas. [default: time]",
    ),
    clock: str = typer.Option(
        None, metavar="opbench|python|cuda|torch", help="What takes the time. [default: opbench]"
    ),
    stage: list[str] = typer.Option(
        [], "--stage", metavar="NAMES", help="forward, backward, forward_backward, step, call."
    ),
    device: str = typer.Option(None, metavar="cpu|cuda", help="Where tensors live."),
    env: list[str] = typer.Option(
        [], "--env", metavar="NAMES", help="Measure in these environments (see `opbench env`)."
    ),
    top: str = typer.Option(
        None,
        metavar="95%",
        callback=checked(share),
        help="Of captured calls: those that make up this share of the time.",
    ),
    threads: int = typer.Option(None, min=1, help="Threads per case. [default: 1]"),
    cpus: str = typer.Option(
        None, metavar="0,1", callback=checked(cpu_list), help="Pin the workers to these CPUs."
    ),
    precision: str = typer.Option(
        None,
        metavar="1%",
        callback=checked(share),
        help="Sample until the 95 % interval is within ± this. [default: 2%]",
    ),
    budget: str = typer.Option(
        None,
        metavar="60s",
        callback=checked(duration),
        help="Time for the whole run; what is left after the first pass goes to noisy cases.",
    ),
    max_time_per_case: str = typer.Option(
        None, metavar="5s", callback=checked(duration), help="Soft limit per case. [default: 5s]"
    ),
    timeout: str = typer.Option(
        None,
        metavar="60s",
        callback=checked(duration),
        help="An answer that takes longer is a hang. [default: 60s]",
    ),
    max_starts: int = typer.Option(
        None,
        "--max-starts",
        min=1,
        help="Fresh worker starts at most of a case that is compared with none: identical code "
        "differs between them, so more narrow what longer sampling cannot. [default: 12]",
    ),
    num_runs: int = typer.Option(
        None, "--num-runs", min=1, help="Fixed design: this many runs, each with fresh inputs."
    ),
    num_repeats: int = typer.Option(
        None, "--num-repeats", min=1, help="Fixed design: calls timed in each run."
    ),
    store: str = typer.Option(
        None, metavar="URL", help="Where results go. [default: .opbench/results.db]"
    ),
    name: str = typer.Option(None, help="A name for this run."),
    cont: bool = typer.Option(
        False, "--cont", help="Complete the latest run (or the one of --name): only what it lacks."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would run; measure nothing."),
    no_save: bool = typer.Option(False, "--no-save", help="Show results, store nothing."),
    seed: int = typer.Option(None, min=0, help="Seed of the inputs. [default: 0]"),
    jobs: int = typer.Option(
        None, min=1, help="Workers that count instructions side by side. [default: by the machine]"
    ),
    on: str = typer.Option(
        None, metavar="ray|ray://HOST:PORT", help="Measure on a Ray cluster (docs/fleet.md)."
    ),
    slots: str = typer.Option(
        None, metavar="cpu=1,gpu=1", help="Timing groups at a time: per node, and per GPU."
    ),
    replicate_on: int = typer.Option(
        None, "--replicate-on", min=1, metavar="N", help="Measure every group on N nodes."
    ),
    require: list[str] = typer.Option(
        [],
        "--require",
        metavar="NAME=VALUE",
        help="Nodes that will do: memory=64GiB, cpu=MODEL, gpu=MODEL, a label or resource of Ray.",
    ),
    retries: int = typer.Option(
        None, min=0, help="How often a group is measured again after its node died. [default: 2]"
    ),
) -> int:
    """Measure suites and files; store, and show, time and other metrics of every case."""
    options: dict[str, Any] = {
        "keep": tuple(keep),
        "axes": parse_axes(axis),
        "baseline": baseline,
        "metrics": names(metric),
        "clock": clock,
        "stages": names(stage),
        "device": device,
        "environments": names(env),
        "threads": threads,
        "cpus": cpus,
        "precision": precision,
        "budget": budget,
        "max_time_per_case": max_time_per_case,
        "timeout": timeout,
        "max_starts": max_starts,
        "num_runs": num_runs,
        "num_repeats": num_repeats,
        "name": name,
        "seed": seed,
        "jobs": jobs,
        "top": top,
        "on": on,
        "slots": slots,
        "replicate_on": replicate_on,
        "require": tuple(require),
        "retries": retries,
    }
    # "stage" reads like any other axis to the person who types it.
    if "stage" in options["axes"]:
        options["stages"] = (*options["stages"], *options["axes"].pop("stage"))
    from rich.console import Console

    from opbench.cli.env import ready

    console = Console(stderr=True)
    if not on:  # the nodes of a cluster build theirs themselves
        ready(options["environments"], console)
    if dry_run:
        return _dry_run(targets or [], options)

    from opbench.api.run import execute
    from opbench.cli.progress import progress
    from opbench.report.terminal import show

    with progress(console) as listener:
        finished = execute(
            targets or [],
            options,
            store=store,
            save=not no_save,
            cont=cont,
            listener=listener,
        )
    from opbench.define import suites

    show(finished, targets=targets or [])
    for suite in suites.every().values():
        for line in suite.after_run(finished, targets or [], store=store, cont=cont):
            print(line)
    if finished.status == "interrupted":
        # In one piece, to be copied.
        console.print(_how_to_continue(finished.store, store, name), soft_wrap=True, markup=False)
        return 130
    return 1 if finished.failures else 0


def _how_to_continue(saved: str, store: str | None, name: str | None) -> str:
    if not saved:
        return "Interrupted. Nothing was to be saved."
    again = ["opbench", "run", "--cont"]
    if name:
        again += ["--name", name]
    if store:
        again += ["--store", without_password(store)]
    return f"Interrupted. What was finished is kept; continue with: {shlex.join(again)}"


def _dry_run(targets: list[str], options: dict[str, Any]) -> int:
    from opbench.api.run import prepare

    request, settled = prepare({**options, "targets": tuple(targets)})
    for group in request.groups:
        for case in group.cases:
            note = f"   (unsupported: {case.unsupported})" if case.unsupported else ""
            print(f"{case.id}{note}")
    cases = len(request.cases)
    places = [place.name for place in request.environments]
    where = f" in {', '.join(places)}" if places != ["current"] else ""
    most = cases * len(places) * settled.max_time_per_case
    limit = settled.budget if settled.budget is not None else most
    print(
        f"\n{cases} case{'s' if cases != 1 else ''}{where}, {', '.join(settled.metrics)}; "
        f"{request.policy.text}; at most about {_minutes(limit)}. Nothing was measured."
    )
    return 0


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
