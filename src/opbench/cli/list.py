"""`opbench list`: the suites there are, or the cases of a suite or file."""

from __future__ import annotations

import sys

import typer

from opbench.cli.quantities import axes as parse_axes
from opbench.cli.quantities import names


def list_(
    targets: list[str] = typer.Argument(
        None, metavar="[SUITE | FILE]...", help="Whose cases to list; without any, the suites."
    ),
    keep: list[str] = typer.Option(
        [], "-k", metavar="SUBSTRING", help="Only cases whose id contains this."
    ),
    axis: list[str] = typer.Option(
        [], "-a", "--axis", metavar="AXIS=V1,V2", help="Use these values on this axis."
    ),
    stage: list[str] = typer.Option([], "--stage", metavar="NAMES", help="Only these stages."),
    device: str = typer.Option(None, metavar="cpu|cuda", help="Where tensors live."),
    hashes: bool = typer.Option(False, "--hash", help="Print each case's hash before its id."),
) -> None:
    """List suites, or the cases of suites and files, one id per line."""
    if not targets and not (keep or axis or stage):
        _suites()
        return

    from opbench.define.expand import expand
    from opbench.define.targets import resolve

    asked = parse_axes(axis)
    stages = (*names(stage), *asked.pop("stage", ()))
    found = resolve(targets or [])
    cases = expand(found.definitions, axes=asked, keep=keep, stages=stages, device=device)
    if hashes:
        sys.stdout.writelines(f"{case.hash[:12]}  {case.id}\n" for case in cases)
    else:
        sys.stdout.writelines(f"{case.id}\n" for case in cases)


def _suites() -> None:
    from opbench.define.suites import named

    width = max(len(name) for name in named())
    for name, suite in named().items():
        print(f"{name:<{width}}  {suite.about}")
    print("\nopbench list SUITE lists its cases; opbench run SUITE measures them.")
