"""The requirements of an environment, checked before anything is built.

`numpy==2.2.6` (PEP 508), a folder or archive of a project, or `-r FILE`. Each becomes arguments of
the installer, never text for a shell; other options are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import canonicalize_name

from opbench.errors import UserError
from opbench.files import expanded

ARCHIVES = (".whl", ".tar.gz", ".zip")
FILE_OPTIONS = ("-r", "--requirement")


@dataclass(frozen=True, order=True)
class Requirement:
    """One requirement in its normal form."""

    #: As the installer takes it; paths are absolute.
    text: str
    #: For a requirements file: a hash of its content, so that an edited file is a new one.
    digest: str = ""

    @property
    def arguments(self) -> list[str]:
        return ["-r", self.text[3:]] if self.text.startswith("-r ") else [self.text]

    def __str__(self) -> str:
        return self.text


def applying(texts: Iterable[str]) -> list[str]:
    """Those that are installed on this machine, without the marker that says so."""
    wanted = [Pep508(text) for text in texts]
    here = [each for each in wanted if each.marker is None or each.marker.evaluate()]
    return [str(each).partition(";")[0] for each in here]


def pinned(requirements: Iterable[Requirement], packages: Iterable[str]) -> list[str]:
    """What was installed for each of the requirements: its package with the version. Nothing for
    one that a marker left out; a project or a file stands as it is."""
    by_name = {_name(package): package for package in packages}
    named = [(each.text, _name(each.text)) for each in requirements]
    return [by_name.get(name, text) for text, name in named if name in by_name or _is_file(text)]


def _name(text: str) -> str:
    """Of a package, in its normal form: `scipy_openblas32==0.3` → `scipy-openblas32`."""
    return canonicalize_name(re.split(r"[^\w.-]", text, maxsplit=1)[0])


def _is_file(text: str) -> bool:
    return text.startswith(FILE_OPTIONS) or _is_path(text)


def parse(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Requirements in normal form and order, each once."""
    found = sorted({_parse(text) for text in _joined(texts)})
    if not found:
        raise UserError("an environment needs something to install, such as numpy==2.2.6")
    return tuple(found)


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """`-r` and its file may come as two words, as on a command line."""
    words = iter(texts)
    for word in words:
        yield f"-r {next(words, '')}" if word.strip() in FILE_OPTIONS else word.strip()


def _parse(text: str) -> Requirement:
    option, _, rest = text.partition(" ")
    if option in FILE_OPTIONS:
        return _requirements_file(rest.strip())
    if text.startswith("-"):
        raise UserError(
            f"'{text}' is not a valid requirement: give names and versions (numpy==2.2.6), "
            "paths of projects, or -r FILE; other options belong in pip's own configuration"
        )
    if _is_path(text):
        return _project(text)
    try:
        return Requirement(str(Pep508(text)))
    except InvalidRequirement as error:
        what = str(error).splitlines()[0]
        vcs = "; for a repository write NAME @ git+https://…" if "://" in text else ""
        raise UserError(f"'{text}' is not a valid requirement ({what}){vcs}") from None


def _is_path(text: str) -> bool:
    return "://" not in text and (
        text.startswith((".", "/", "~")) or "/" in text.split("@")[0] or text.endswith(ARCHIVES)
    )


def _project(text: str) -> Requirement:
    """A folder or an archive, with or without extras: `./mine[fast]`."""
    place, bracket, extras = text.partition("[") if text.endswith("]") else (text, "", "")
    path = expanded(place).absolute()
    if not path.exists():
        raise UserError(f"project not found: {place}")
    if path.is_dir() and not any((path / f).is_file() for f in ("pyproject.toml", "setup.py")):
        raise UserError(f"{place} is not a project: it has neither pyproject.toml nor setup.py")
    if path.is_file() and not path.name.endswith(ARCHIVES):
        raise UserError(f"{place} is not a project: give its folder, or a {', '.join(ARCHIVES)}")
    return Requirement(f"{path.resolve()}{bracket}{extras}")


def _requirements_file(place: str) -> Requirement:
    path = expanded(place).absolute()
    if not place or not path.is_file():
        raise UserError(f"requirements file not found: {place or '(-r needs a file)'}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Requirement(f"-r {path.resolve()}", digest)
