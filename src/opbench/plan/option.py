"""One option of a run: how its values are read, and what the command line and the docs say of it.

Imports nothing heavy: `opbench --help` needs every option.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opbench.define import points, reading

#: Where options may be given: these commands, the command of a suite that measures, and the `[run]`
#: table of a run file. Python takes all options of `run` and `ab`.
PLACES = ("run", "ab", "suite", "time", "list", "report", "file")

#: Every command that measures, and run files.
MEASURING = ("run", "ab", "suite", "file")
#: And the quick one, which measures on this machine only.
ALL_MEASURING = ("run", "ab", "suite", "time", "file")


@dataclass(frozen=True)
class Kind:
    """A type of value: one reader for the command line, run files, Python and stored runs."""

    #: The value in its final form; a ValueError says what was expected and what was found.
    read: Callable[[Any], Any]
    #: The type of the keyword in Python, as source.
    keyword: str
    metavar: str
    #: On the command line the option may be repeated.
    repeated: bool = False
    #: How a default is written.
    show: Callable[[Any], str] = str


TEXT = Kind(reading.text, "str", "TEXT")
TEXTS = Kind(reading.texts, "str | Sequence[str]", "TEXT", repeated=True, show=", ".join)
NAMES = Kind(reading.names, "str | Sequence[str]", "NAMES", repeated=True, show=", ".join)
STAGES = Kind(reading.stages, "str | Sequence[str]", "NAMES", repeated=True)
AXES = Kind(reading.axes, "Mapping[str, Label | Sequence[Label]]", "AXIS=V1,V2", repeated=True)
POINTS = Kind(points.read, "str | Path | Sequence[Mapping[str, Label]]", "FILE")
ASSIGNMENT = Kind(reading.assignment, "str", "AXIS=VALUE")
COUNT = Kind(reading.count, "int", "N")
COUNT_FROM_0 = Kind(reading.count_from_0, "int", "N")
CPUS = Kind(reading.cpus, "str | Sequence[int]", "0,1")
SHARE = Kind(reading.fraction, "float | str", "1%", show=lambda share: f"{share * 100:g}%")
DURATION = Kind(reading.seconds, "float | str", "60s", show=lambda seconds: f"{seconds:g}s")
URL = Kind(reading.text, "str | Path", "URL")
SWITCH = Kind(reading.switch, "bool", "")


@dataclass(frozen=True)
class Option:
    kind: Kind
    help: str
    #: The heading of the reference under which it stands.
    section: str
    where: tuple[str, ...] = MEASURING
    #: As typed; `--the-name` unless given.
    flags: tuple[str, ...] = ()
    metavar: str = ""
    #: What happens without it, where the default value itself does not say.
    otherwise: str = ""
    #: Whether it is kept with the run, for `--cont`.
    stored: bool = True
    #: Whether a run that is continued may be given another value: one that changes neither its
    #: cases nor what their results mean.
    adjustable: bool = False
    default: Any = None
    #: What the keyword in Python means, where the help of the flag does not fit it.
    keyword_help: str = ""

    def flags_of(self, name: str) -> tuple[str, ...]:
        return self.flags or ("--" + name.replace("_", "-"),)

    @property
    def default_text(self) -> str:
        if self.otherwise or self.default in (None, (), {}, "") or self.kind is SWITCH:
            return self.otherwise
        return self.kind.show(self.default)

    @property
    def full_help(self) -> str:
        return self._with_default(self.help)

    @property
    def full_keyword_help(self) -> str:
        return self._with_default(self.keyword_help or self.help)

    def _with_default(self, text: str) -> str:
        default = self.default_text
        return f"{text} [default: {default}]" if default else text


def option(default: Any, kind: Kind, help: str, section: str, **more: Any) -> Any:
    """A field of `RunOptions`, with its `Option` as metadata."""
    described = {"option": Option(kind, help, section, default=default, **more)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=described)
    return field(default=default, metadata=described)
