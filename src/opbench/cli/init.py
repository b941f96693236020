"""`opbench init`: writes a small, commented benchmark file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TEMPLATE = Path(__file__).parent / "bench_example.txt"


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("bench_example.py"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a small, commented benchmark file to start from."""
    if path.is_dir():
        path = path / "bench_example.py"
    if path.suffix != ".py":
        fail(f"{path} should end in .py")
    if path.exists() and not force:
        fail(f"{path} is already there; choose another name, or --force to overwrite it")
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent}")
    try:
        path.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}")
    typer.echo(f"Wrote {path}. Next: opbench run {path}")


def fail(message: str) -> None:
    typer.echo(f"opbench init: {message}", err=True)
    raise typer.Exit(2)
