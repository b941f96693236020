"""Named virtual environments with pinned packages: built once, kept, found again by name.

Each lives in `$OPBENCH_HOME/envs/NAME` (by default in the user's cache) with an
`environment.json` that lists what was requested and what was installed. It is built in a temporary
folder and renamed when complete, so an environment is complete or absent. One process at a time
works on a name: it holds a lock that is released when the process ends, however it ends.
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

from opbench import children
from opbench.envs import armpl, installer
from opbench.envs.requirements import Requirement, parse
from opbench.errors import UserError, unknown
from opbench.files import expanded

Line = Callable[[str], None]

RECORD = "environment.json"
UNFINISHED = ".unfinished"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Predefined:
    requirements: tuple[str, ...]
    #: The newest Python its packages work on.
    newest_python: tuple[int, int]
    #: The module imported to check it, and what supplies a missing library.
    module: str = ""
    repair: Callable[[Path], str] | None = None


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
        repair=armpl.make,
    ),
}


@dataclass(frozen=True)
class Build:
    """An environment that was built, as its `environment.json` describes it."""

    name: str
    requirements: tuple[Requirement, ...]
    #: Everything that was installed, pinned.
    packages: tuple[str, ...]
    python_version: str
    created: str
    #: What readers of its results must know.
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return home() / self.name

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")


def home() -> Path:
    """The folder of all built environments."""
    home = os.environ.get("OPBENCH_HOME")
    if home:
        return expanded(home).absolute() / "envs"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expanded(cache).absolute() / "opbench" / "envs"


def built() -> list[Build]:
    """All built environments, by name."""
    if not home().is_dir():
        return []
    found = [load(folder.name) for folder in home().iterdir() if NAME.fullmatch(folder.name)]
    return sorted((build for build in found if build is not None), key=lambda build: build.name)


def load(name: str) -> Build | None:
    """The built environment of that name, or None."""
    if not NAME.fullmatch(name):
        return None
    try:
        record = json.loads((home() / name / RECORD).read_text())
        requirements = tuple(Requirement(**entry) for entry in record["requirements"])
        packages = tuple(map(str, record["packages"]))
        notes = tuple(map(str, record.get("notes") or ()))
        return Build(
            name, requirements, packages, record["python_version"], record["created"], notes
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def create(
    name: str,
    requirements: Iterable[str],
    python: str | None = None,
    on_line: Line | None = None,
) -> Build:
    """The environment of that name with these requirements, built unless it exists.

    `python` is its interpreter, by default the one opbench runs in. `on_line` gets each line of
    the installer. A failure leaves nothing behind.
    """
    check_name(name)
    wanted = parse(requirements)
    if name in PREDEFINED and wanted != parse(PREDEFINED[name].requirements):
        wants = " ".join(PREDEFINED[name].requirements)
        raise UserError(f"'{name}' is predefined ({wants}); choose another name")
    base = _base(name, python)
    on_line = on_line or (lambda _line: None)
    _sweep()
    with _lock(name, on_line):
        existing = load(name)
        if existing is not None and Path(existing.python).exists():
            _check_same(existing, wanted, base if python else None)
            return existing
        return _build(name, wanted, base, on_line)


def check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name == "current":
        raise UserError(
            f"an environment cannot be called '{name}': use letters, digits and .-_ , "
            "and not 'current', which is the one opbench runs in"
        )


def create_predefined(name: str, on_line: Line | None = None) -> Build:
    return create(name, PREDEFINED[name].requirements, on_line=on_line)


def remove(name: str) -> None:
    """Delete an environment; refused while another process builds it."""
    folder = home() / name
    if not NAME.fullmatch(name) or not folder.is_dir():
        known = [build.name for build in built()] or ["(none is built)"]
        raise UserError(unknown("built environment", name, known))
    with _lock(name) as locked:
        if not locked:
            raise UserError(f"environment '{name}' is being built by another process")
        # Renamed first, then deleted: an interrupt leaves nothing that looks complete.
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
    existing: Build, wanted: tuple[Requirement, ...], base: installer.Interpreter | None
) -> None:
    differs = ""
    if existing.requirements != wanted:
        edited = {r.text for r in existing.requirements} == {r.text for r in wanted}
        has = " ".join(map(str, existing.requirements))
        differs = "an earlier version of these files" if edited else has
    elif base is not None and existing.python_version != base.text:
        differs = f"Python {existing.python_version}"
    if differs:
        raise UserError(
            f"environment '{existing.name}' exists with {differs}; choose another name, or "
            f"remove it first: opbench env remove {existing.name}"
        )


def _build(
    name: str, wanted: tuple[Requirement, ...], base: installer.Interpreter, on_line: Line
) -> Build:
    folder = _new_folder(name)
    try:
        packages = installer.build(folder, base, wanted, on_line)
        notes = _checked(PREDEFINED[name], folder, on_line) if name in PREDEFINED else ()
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        build = Build(name, wanted, packages, base.text, now, notes)
        (folder / RECORD).write_text(json.dumps(asdict(build), indent=2) + "\n")
        _move(folder, build.folder)
    except (installer.InstallError, armpl.CannotBuild, OSError) as error:
        raise UserError(f"environment '{name}' was not built: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return build


def _checked(predefined: Predefined, folder: Path, on_line: Line) -> tuple[str, ...]:
    """Check that its module can be imported; supply a missing library. Returns notes."""
    if not predefined.module:
        return ()
    try:
        installer.check_import(folder, predefined.module)
        return ()
    except installer.InstallError as error:
        if predefined.repair is None or ".so" not in str(error):
            raise
        on_line(f"{error}: building a substitute")
    note = predefined.repair(installer.site_packages(folder))
    installer.check_import(folder, predefined.module)
    return (note,)


def _move(folder: Path, place: Path) -> None:
    """Rename into place, after updating the interpreter's path in its scripts."""
    for script in (folder / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if bytes(folder) in text:
                script.write_bytes(text.replace(bytes(folder), bytes(place)))
    if place.exists():  # its interpreter is gone
        shutil.rmtree(place)
    folder.rename(place)


# -- unfinished folders -----------------------------------------------------------------------


def _new_folder(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=UNFINISHED, dir=home()))
    children.remove_at_end(folder)
    return folder


def _sweep() -> None:
    """Delete what killed builds left behind; those of a live process are locked."""
    for folder in home().glob(f".*{UNFINISHED}") if home().is_dir() else ():
        name = folder.name[1 : -len(UNFINISHED)].rpartition(".")[0]
        with _lock(name) as locked:
            if locked:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock(name: str, on_line: Line | None = None) -> Iterator[bool]:
    """Whether the name is locked for us. With `on_line`, wait until it is, and report it."""
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
            if on_line is None:
                yield False
                return
            on_line(f"waiting for another process that works on environment '{name}'")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield True
