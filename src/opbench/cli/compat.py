"""`opbench compat install DIR`: the files of the older suites, each a few lines over opbench.

Scripts written for them run as they stand: `from mxnet_benchmarks.nd import Add`, `python
run_benchmarks.py -c config.json`. The files (`data/compat`) are laid out in a folder of the user's,
because names such as `patching_hook` belong to nobody's site-packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opbench.errors import UserError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

compat = typer.Typer(name="compat", help="Run scripts of the older suites.", no_args_is_help=True)

#: So that neither Python nor its tools take them for modules of ours.
SUFFIX = ".txt"


@compat.callback()
def group() -> None:
    """Run scripts of the older suites."""


@compat.command("install")
def install(
    folder: Path = typer.Argument(..., metavar="DIR", help="Made where there is none."),
    force: bool = typer.Option(False, "--force", help="Overwrite files that are there already."),
) -> None:
    """Lay out the scripts of the older suites in DIR.

    They are mxnet_benchmarks, benchmark_driver.py, patching_hook.py, run_benchmarks.py,
    benchmark_layer.py, layers.py, utils.py and instruction_counts; scripts in DIR import them as
    they did the originals.
    """
    files = {folder / name: text for name, text in shipped()}
    other = [path for path, text in files.items() if differs(path, text)]
    if other and not force:
        raise UserError(f"{other[0]} exists already; --force overwrites it")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from None


def shipped(place: Traversable | None = None, under: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of each file."""
    place = place or resources.files("opbench.data").joinpath("compat")
    for each in sorted(place.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from shipped(each, f"{under}{each.name}/")
        else:
            yield under + each.name.removesuffix(SUFFIX), each.read_text(encoding="utf-8")


def differs(path: Path, text: str) -> bool:
    return path.exists() and (not path.is_file() or path.read_text("utf-8", "replace") != text)
