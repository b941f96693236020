"""Runs venv and pip: find an interpreter, create a virtual environment, install packages.

Interpreters are started isolated (`-I`): a module in the current folder, or PYTHONPATH, must
neither break the installer nor count as installed.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opbench import children
from opbench.envs.requirements import Requirement
from opbench.errors import UserError

Line = Callable[[str], None]

#: The oldest Python that a worker supports.
OLDEST = (3, 9)
#: Variables that would make pip install elsewhere than into its interpreter, or find there what is
#: not installed.
REDIRECTING = (
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PYTHONHOME",
    "PYTHONPATH",
    "__PYVENV_LAUNCHER__",
)
QUESTION = (
    "import json, sys, venv, ensurepip; "
    "print(json.dumps([list(sys.version_info[:3]), sys.executable]))"
)
#: The first pip that has --python.
PIP_WITH_PYTHON = (22, 3)
#: Length of a reason; the installer can list every version ever released.
MAX_LENGTH = 400


@dataclass(frozen=True)
class Interpreter:
    path: str
    version: tuple[int, ...]

    @property
    def text(self) -> str:
        return ".".join(map(str, self.version))


def interpreter(python: str) -> Interpreter:
    """The interpreter at a path, or of that name on PATH, if it can create environments."""
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        raise UserError(f"interpreter not found: {python}; give its path with --python")
    errors = ""
    try:
        answer = children.run(children.program(path, "-I", "-c", QUESTION), timeout=60)
        errors = answer.stderr.strip()
        version, executable = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        # A traceback ends with its reason; the message of a wrapper of Python begins with it.
        line = -1 if "Traceback" in errors else 0
        why = errors.splitlines()[line] if errors else "it does not answer"
        raise UserError(f"{python} cannot create virtual environments: {why}") from None
    if tuple(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UserError(f"{python} is Python {version[0]}.{version[1]}; opbench needs {oldest}")
    return Interpreter(executable, tuple(version))


def newest_up_to(limit: tuple[int, int]) -> Interpreter:
    """The newest interpreter on this machine up to `limit`."""
    names = [f"python{limit[0]}.{minor}" for minor in range(limit[1], OLDEST[1] - 1, -1)]
    ours = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in names:
        # Our own first: it is known to work, which a command of that name on PATH may not.
        for candidate in [sys.executable] * (name == ours) + [name]:
            try:
                return interpreter(candidate)
            except UserError:
                continue
    raise UserError(f"no {', '.join(names[:-1])} or {names[-1]} was found on PATH; install one")


def build(
    folder: Path, base: Interpreter, requirements: Iterable[Requirement], on_line: Line
) -> tuple[str, ...]:
    """Create a virtual environment and install into it; returns its packages, pinned."""
    on_line(f"creating a virtual environment of Python {base.text}")
    python, ours = str(folder / "bin" / "python"), pip_can_install_elsewhere()
    _run([base.path, "-I", "-m", "venv", *["--without-pip"] * ours, str(folder)], on_line)
    pip = [sys.executable, "-I", "-m", "pip", "--python", python]
    if not ours:
        pip = [python, "-I", "-m", "pip"]
    pip.append("--disable-pip-version-check")
    words = [word for requirement in requirements for word in requirement.arguments]
    on_line(f"installing {', '.join(map(str, requirements))}")
    _run([*pip, "install", "--no-input", "--progress-bar", "off", *words], on_line)
    frozen: list[str] = []
    _run([*pip, "freeze"], frozen.append)
    return tuple(line for line in frozen if line and not line.startswith(("#", "WARNING")))


def pip_can_install_elsewhere() -> bool:
    """Whether the pip beside opbench can install into other environments: to give each a pip of its
    own takes longer than to install a package."""
    try:
        version = importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        return False
    return tuple(map(int, re.findall(r"\d+", version)[:2])) >= PIP_WITH_PYTHON


def check_import(folder: Path, module: str) -> None:
    """Raises InstallError, with the interpreter's message, where the module cannot be imported."""
    _run([str(folder / "bin" / "python"), "-I", "-c", f"import {module}"], lambda _line: None)


def site_packages(folder: Path) -> Path:
    """The folder of a virtual environment's packages."""
    output: list[str] = []
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    _run([str(folder / "bin" / "python"), "-I", "-c", code], output.append)
    return Path(output[-1])


def _run(command: Sequence[str], on_line: Line) -> None:
    """Run to completion, passing on each line. An interrupt, or our death, kills all of it."""
    env = {name: value for name, value in os.environ.items() if name not in REDIRECTING}
    output: list[str] = []
    with (
        # What pip unpacks and builds lies there, whether it comes to tidy up or not.
        children.temporary_folder("opbench-install-") as scratch,
        children.started(
            children.program(*command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**env, "TMPDIR": str(scratch)},
            start_new_session=True,  # Ctrl-C is ours to handle
        ) as process,
    ):
        for line in process.stdout or ():
            output.append(line.rstrip())
            on_line(line.rstrip())
        process.wait()
    if process.returncode:
        raise InstallError(reason(output) or f"exit status {process.returncode}")


class InstallError(Exception):
    """The installer's own reason, as one line."""


def reason(output: Sequence[str]) -> str:
    """Why an installer failed: its lines marked ERROR, else its last line."""
    errors = [line[len("ERROR:") :].strip() for line in output if line.startswith("ERROR:")]
    # Which versions need another Python matters only when there is no other error.
    specific = [line for line in errors if not line.startswith("Ignored the following")]
    chosen = specific or errors or [line.strip() for line in output if line.strip()][-1:]
    text = "; ".join(dict.fromkeys(_short(line) for line in chosen))
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def _short(line: str) -> str:
    """Only the latest few of a list of versions."""

    def last(found: re.Match[str]) -> str:
        versions = found[1].split(", ")
        return f"(from versions: {'…, ' if len(versions) > 4 else ''}{', '.join(versions[-4:])})"

    return re.sub(r"\(from versions: ([^)]*)\)", last, line)
