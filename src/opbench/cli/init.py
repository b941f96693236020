"""`opbench init`: writes a small, commented benchmark file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opbench.errors import UserError
from opbench.files import writing

TEMPLATE = Path(__file__).parent / "bench_example.txt"


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("bench_example.py"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a small, commented benchmark file to start from."""
    if path.is_dir():
        path = path / "bench_example.py"
    if path.suffix != ".py":
        raise UserError(f"{path} should end in .py")
    if path.exists() and not force:
        raise UserError(f"{path} exists; choose another name, or overwrite it with --force")
    if not path.parent.is_dir():
        raise UserError(f"folder not found: {path.parent}")
    with writing(path) as partial:
        partial.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    typer.echo(f"Wrote {path}. Next: opbench run {path}")
