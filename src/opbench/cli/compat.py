"""`opbench compat install DIR`: the files of the older suites, each a few lines over opbench.

Scripts written for them run as they stand: `from mxnet_benchmarks.nd import Add`, `python
run_benchmarks.py -c config.json`. The files are laid out in a folder of the user's, because names
such as `patching_hook` belong to nobody's site-packages.
"""

from __future__ import annotations

from pathlib import Path

import typer

from opbench.errors import UserError

compat = typer.Typer(name="compat", help="Run scripts of the older suites.", no_args_is_help=True)

MXNET = '''\
"""The classes of `opbench.mxnet_benchmarks`, at the address they had in dl-operator-benchmark."""

import sys

import opbench.mxnet_benchmarks as operators

for name, module in list(sys.modules.items()):
    if name.startswith("opbench.mxnet_benchmarks"):
        sys.modules[name.removeprefix("opbench.")] = module
sys.modules[__name__] = operators
'''
DRIVER = '''\
"""python benchmark_driver.py: every operator of the classic suite on MXNet, a line for each."""

from mxnet_benchmarks.nd import run_all_classic_operations_benchmarks

if __name__ == "__main__":
    run_all_classic_operations_benchmarks()
'''
HOOK = '''\
"""Records the inputs of modules, functions and methods of torch (see `opbench capture`)."""

from opbench.patching_hook import add_wrapper, hook, init

__all__ = ["add_wrapper", "hook", "init"]
'''
COMMAND = '''\
"""{usage}: the same as `opbench {command}`."""

import sys

from opbench.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = {words}
    main()
'''
FILES = {
    "mxnet_benchmarks/__init__.py": MXNET,
    "benchmark_driver.py": DRIVER,
    "patching_hook.py": HOOK,
    "run_benchmarks.py": COMMAND.format(
        usage="python run_benchmarks.py [-c CONFIG_FILE] [-v] …", command="layers", words=["layers"]
    ),
    "instruction_counts/main.py": COMMAND.format(
        usage="python main.py",
        command="run snippets --metric instructions",
        words=["run", "snippets", "--metric", "instructions"],
    ),
}


@compat.callback()
def group() -> None:
    """Run scripts of the older suites."""


@compat.command("install")
def install(
    folder: Path = typer.Argument(..., metavar="DIR", help="Made where there is none."),
    force: bool = typer.Option(False, "--force", help="Overwrite files that are there already."),
) -> None:
    """Lay out mxnet_benchmarks, benchmark_driver.py, patching_hook.py, run_benchmarks.py and
    instruction_counts/main.py in DIR; scripts in DIR import them as they did the originals."""
    other = [name for name, text in FILES.items() if differs(folder / name, text)]
    if other and not force:
        raise UserError(f"{folder / other[0]} exists already; --force overwrites it")
    try:
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from None


def differs(path: Path, text: str) -> bool:
    return path.exists() and (not path.is_file() or path.read_text("utf-8", "replace") != text)
