"""Named virtual environments with pinned packages: built once, kept, found again by name.

Each lives in `$OPBENCH_HOME/envs/NAME` (by default in the user's cache) with an
`environment.json` that says what was asked for and what was installed. It is built in a folder
beside that and renamed when all is done, so an environment is whole or not there. One process at a
time works on a name: it holds a lock that ends with it, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from opbench.envs import armpl, installer
from opbench.envs.requirements import Requirement, parse
from opbench.errors import UserError

Line = Callable[[str], None]

RECORD = "environment.json"
UNFINISHED = ".unfinished"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Predefined:
    requirements: tuple[str, ...]
    #: The newest Python its packages work on.
    newest_python: tuple[int, int]
    #: What is imported to see that it works, and what mends it when a library is missing.
    module: str = ""
    mend: Callable[[Path], str] | None = None


PREDEFINED = {
    # The last release; it uses names that NumPy 1.24 and Python 3.12 removed.
    "mxnet": Predefined(
        (
            "mxnet==1.9.1",
            "numpy==1.23.5",
            f"{armpl.OPENBLAS}; platform_machine == 'aarch64'",
        ),
        (3, 11),
        module="mxnet",
        mend=armpl.make,
    ),
}


@dataclass(frozen=True)
class Build:
    """An environment that was built, as its `environment.json` tells."""

    name: str
    requirements: tuple[Requirement, ...]
    #: Everything that was installed, pinned.
    packages: tuple[str, ...]
    python_version: str
    created: str
    #: What a reader of its results must know.
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return home() / self.name

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")


def home() -> Path:
    """The folder of all built environments."""
    mine = os.environ.get("OPBENCH_HOME")
    if mine:
        return Path(mine).expanduser().absolute() / "envs"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "opbench" / "envs"


def built() -> list[Build]:
    """Every environment there is, by name."""
    if not home().is_dir():
        return []
    found = [load(folder.name) for folder in home().iterdir() if NAME.fullmatch(folder.name)]
    return sorted((build for build in found if build is not None), key=lambda build: build.name)


def load(name: str) -> Build | None:
    """The environment of that name; None when there is none."""
    if not NAME.fullmatch(name):
        return None
    try:
        told = json.loads((home() / name / RECORD).read_text())
        requirements = tuple(Requirement(**entry) for entry in told["requirements"])
        packages = tuple(map(str, told["packages"]))
        notes = tuple(map(str, told.get("notes") or ()))
        return Build(name, requirements, packages, told["python_version"], told["created"], notes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def create(
    name: str,
    requirements: Iterable[str],
    python: str | None = None,
    on_line: Line | None = None,
) -> Build:
    """The environment of that name with these requirements: built, unless it is there already.

    `python` is the interpreter it is made from, by default the one opbench runs in. `on_line`
    hears each line of the installer. A failure leaves nothing behind.
    """
    if not NAME.fullmatch(name) or name == "current":
        raise UserError(
            f"an environment cannot be called '{name}': use letters, digits and .-_ , "
            "and not 'current', which is the one opbench runs in"
        )
    wanted = parse(requirements)
    if name in PREDEFINED and wanted != parse(PREDEFINED[name].requirements):
        wants = " ".join(PREDEFINED[name].requirements)
        raise UserError(f"'{name}' is predefined ({wants}); choose another name")
    base = _base(name, python)
    tell = on_line or (lambda _line: None)
    _sweep()
    with _lock(name, tell):
        there = load(name)
        if there is not None and Path(there.python).exists():
            _check_same(there, wanted, base if python else None)
            return there
        return _build(name, wanted, base, tell)


def create_predefined(name: str, on_line: Line | None = None) -> Build:
    return create(name, PREDEFINED[name].requirements, on_line=on_line)


def remove(name: str) -> None:
    """Delete an environment; refused while another process builds it."""
    folder = home() / name
    if not NAME.fullmatch(name) or not folder.is_dir():
        known = ", ".join(build.name for build in built())
        raise UserError(
            f"there is no built environment '{name}'; there is {known or 'none at all'}"
        )
    with _lock(name) as mine:
        if not mine:
            raise UserError(f"environment '{name}' is being built by another process")
        # First out of sight, then deleted: an interrupt leaves nothing that looks whole.
        aside = _new_folder(name)
        folder.rename(aside / "removed")
    shutil.rmtree(aside, ignore_errors=True)


def _base(name: str, python: str | None) -> installer.Interpreter:
    if python is None and name in PREDEFINED:
        try:
            return installer.newest_up_to(PREDEFINED[name].newest_python)
        except UserError as error:
            raise UserError(f"environment '{name}' cannot be built: {error}") from None
    return installer.interpreter(python or sys.executable)


def _check_same(
    there: Build, wanted: tuple[Requirement, ...], base: installer.Interpreter | None
) -> None:
    differs = ""
    if there.requirements != wanted:
        edited = {r.text for r in there.requirements} == {r.text for r in wanted}
        has = " ".join(map(str, there.requirements))
        differs = "an earlier content of these files" if edited else has
    elif base is not None and there.python_version != base.text:
        differs = f"Python {there.python_version}"
    if differs:
        raise UserError(
            f"environment '{there.name}' exists with {differs}; choose another name, or remove it "
            f"first: opbench env remove {there.name}"
        )


def _build(
    name: str, wanted: tuple[Requirement, ...], base: installer.Interpreter, tell: Line
) -> Build:
    folder = _new_folder(name)
    try:
        packages = installer.build(folder, base, wanted, tell)
        notes = _working(PREDEFINED[name], folder, tell) if name in PREDEFINED else ()
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        build = Build(name, wanted, packages, base.text, now, notes)
        (folder / RECORD).write_text(json.dumps(asdict(build), indent=2) + "\n")
        _move(folder, build.folder)
    except (installer.InstallError, armpl.CannotMake, OSError) as error:
        raise UserError(f"environment '{name}' was not built: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return build


def _working(predefined: Predefined, folder: Path, tell: Line) -> tuple[str, ...]:
    """See that its module can be imported; mend it where a library is missing."""
    if not predefined.module:
        return ()
    try:
        installer.check_import(folder, predefined.module)
        return ()
    except installer.InstallError as error:
        if predefined.mend is None or ".so" not in str(error):
            raise
        tell(f"{error}: standing in for it")
    note = predefined.mend(installer.site_packages(folder))
    installer.check_import(folder, predefined.module)
    return (note,)


def _move(folder: Path, place: Path) -> None:
    """Rename into place. Scripts that name their interpreter are told the new place before."""
    for script in (folder / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if bytes(folder) in text:
                script.write_bytes(text.replace(bytes(folder), bytes(place)))
    if place.exists():  # one whose interpreter is gone
        shutil.rmtree(place)
    folder.rename(place)


# -- folders in the making -------------------------------------------------------------------


def _new_folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=UNFINISHED, dir=home()))


def _sweep() -> None:
    """Delete what killed builds left behind; those of a living process are locked."""
    for folder in home().glob(f".*{UNFINISHED}") if home().is_dir() else ():
        name = folder.name[1 : -len(UNFINISHED)].rpartition(".")[0]
        with _lock(name) as mine:
            if mine:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock(name: str, tell: Line | None = None) -> Iterator[bool]:
    """Whether the name is ours to work on. With `tell`, wait until it is, and say so."""
    locks = home() / ".locks"
    try:
        locks.mkdir(parents=True, exist_ok=True)
        file = open(locks / name, "a")  # noqa: SIM115
    except OSError as error:
        raise UserError(
            f"cannot write to {home()}: {error.strerror}; set OPBENCH_HOME to another folder"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tell is None:
                yield False
                return
            tell(f"waiting for another process that works on environment '{name}'")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield True
