"""`opbench env`: the environments that cases can be measured in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console

env = typer.Typer(
    name="env",
    help="Environments to measure in: list, create, add, show, remove.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@env.command("list")
def list_() -> None:
    """List the environments that `--env` takes."""
    from opbench.envs import builds, interpreters
    from opbench.envs.environments import current, interpreter_facts_of
    from opbench.envs.requirements import applying, pinned
    from opbench.report.table import Column, Table, console_for, grid

    here = interpreter_facts_of(current())
    installed = " ".join(f"{name}=={version}" for name, version in here["packages"].items())
    rows = [("current", here["version"], installed, "the one opbench runs in")]
    built = {build.name: build for build in builds.built()}
    for name, predefined in builds.PREDEFINED.items():
        if name not in built:
            newest = ".".join(map(str, predefined.newest_python))
            asked = " ".join(applying(predefined.requirements))
            rows.append((name, f"≤ {newest}", asked, "built on first use"))
    for build in built.values():
        packages = " ".join(pinned(build.requirements, build.packages))
        rows.append((build.name, build.python_version, packages, f"built {_day(build.created)}"))
    rows += [(name, "", python, "added") for name, python in interpreters.added().items()]
    columns = [Column(name, wrap="fold") for name in ("environment", "python", "packages", "")]
    console_for(sys.stdout).print(grid(Table(columns, rows)))


@env.command()
def create(
    name: str = typer.Argument(help="Letters, digits and .-_"),
    requirements: list[str] = typer.Argument(
        None,
        metavar="REQUIREMENT...",
        help="numpy==2.2.6, 'torch<2.12', or a folder or archive of a project.",
        show_default=False,
    ),
    file: list[str] = typer.Option(
        [], "-r", "--requirement", metavar="FILE", help="Install what this file lists."
    ),
    python: str = typer.Option(
        None, metavar="PATH", help="Its interpreter. [default: the one opbench runs in]"
    ),
) -> None:
    """Build an environment and keep it; does nothing if it exists."""
    from opbench.envs import builds
    from opbench.report.terminal.console import Console

    asked = [*(requirements or []), *(f"-r {path}" for path in file)]
    if not asked and name in builds.PREDEFINED:
        asked = list(builds.PREDEFINED[name].requirements)
    console = Console(stderr=True)
    with building(console, name) as on_line:
        build = builds.create(name, asked, python, on_line)
    print(f"{build.name}: Python {build.python_version}, {' '.join(build.packages)}")


@env.command()
def add(
    name: str = typer.Argument(help="Letters, digits and .-_"),
    python: str = typer.Option(
        ..., metavar="PATH", help="An interpreter, or the folder of a virtual environment."
    ),
) -> None:
    """Name an existing interpreter: a build of yours, or conda's."""
    from opbench.envs import interpreters
    from opbench.envs.environments import find, interpreter_facts_of

    path = interpreters.add(name, python)
    try:
        facts = interpreter_facts_of(find(name))
    except BaseException:
        interpreters.remove(name)
        raise
    print(f"{name}: Python {facts['version']}, {path}")


@env.command()
def show(name: str = typer.Argument(help="An environment of `opbench env list`.")) -> None:
    """Show what an environment consists of."""
    from opbench.envs import builds
    from opbench.envs.environments import current, find, interpreter_facts_of
    from opbench.envs.requirements import applying
    from opbench.errors import UserError

    build = builds.load(name)
    if build is None and name in builds.PREDEFINED:
        asked = " ".join(applying(builds.PREDEFINED[name].requirements))
        raise UserError(
            f"'{name}' ({asked}) is not built yet; it is built on first use, or with: "
            f"opbench env create {name}"
        )
    place = current() if build is None and name == "current" else find(name)
    facts = interpreter_facts_of(place)
    lines = [("interpreter", place.python), ("python", facts["version"])]
    if build is not None:
        asked = " ".join(map(str, build.requirements))
        lines += [("requirements", asked), ("created", build.created)]
        lines += [("note", note) for note in build.notes]
        installed = list(build.packages)
    else:
        installed = [f"{name}=={version}" for name, version in facts["packages"].items()]
    for label, value in lines:
        print(f"{label:13} {value}")
    for index, package in enumerate(installed):
        print(f"{'' if index else 'packages':13} {package}")


@env.command()
def remove(name: str = typer.Argument(help="An environment that was built or added.")) -> None:
    """Delete an environment, or forget an added one. Its results stay in the store."""
    from opbench.envs import builds, interpreters

    if name in interpreters.added():
        interpreters.remove(name)
    else:
        builds.remove(name)
    print(f"removed {name}")


def ready(names: Sequence[str], console: Console) -> None:
    """Find all of them; those that are built on first use are built, with progress shown."""
    from opbench.envs.environments import find

    for name in names:
        with building(console, name) as on_line:
            find(name, on_line)


@contextmanager
def building(console: Console, name: str) -> Iterator[Callable[[str], None]]:
    """Shows progress of a build: the installer's last line on a terminal, every line in a log."""
    if not console.is_terminal:
        yield lambda line: console.print(f"{name}: {line}", markup=False, soft_wrap=True)
        return
    from rich.text import Text

    status = console.status("")

    def show_last(line: str) -> None:
        status.start()  # only now: an existing environment needs no display
        status.update(Text(f"{name}: {line}", overflow="ellipsis", no_wrap=True))

    try:
        yield show_last
    finally:
        status.stop()


def _day(created: str) -> str:
    return created.partition("T")[0]
