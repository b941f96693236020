"""The arguments of `torch.utils.benchmark.Timer`, and labels for them."""

from __future__ import annotations

import enum
import textwrap
from dataclasses import dataclass
from typing import Any, Optional

from .errors import SnippetError


class Language(enum.Enum):
    PYTHON = "python"
    CPP = "c++"

    @classmethod
    def of(cls, value: Any) -> Language:
        """From text, from this enum, or from torch's own enum."""
        text = str(getattr(value, "name", value)).lower()
        if text in ("python", "py"):
            return cls.PYTHON
        if text in ("cpp", "c++", "cxx"):
            return cls.CPP
        raise SnippetError(f"language {value!r} is neither python nor c++")


class RuntimeMode(enum.Enum):
    EAGER = "Eager"
    JIT = "TorchScript"
    COMPILE = "torch.compile"
    EXPLICIT = ""


class AutogradMode(enum.Enum):
    FORWARD = "Forward"
    FORWARD_BACKWARD = "Forward + Backward"
    EXPLICIT = ""


@dataclass(frozen=True)
class AutoLabels:
    """What distinguishes the cases of one definition, besides their number of threads."""

    runtime: RuntimeMode
    autograd: AutogradMode
    language: Language

    @property
    def as_dict(self) -> dict[str, str]:
        return {
            "runtime": self.runtime.value,
            "autograd": self.autograd.value,
            "language": "Python" if self.language is Language.PYTHON else "C++",
        }


@dataclass(frozen=True)
class TimerArgs:
    """One statement, as `Timer(**args.as_dict)` takes it."""

    stmt: str
    setup: str = "pass"
    #: C++ outside of all functions: `#include`s, helper functions.
    global_setup: str = ""
    num_threads: int = 1
    language: Any = Language.PYTHON
    label: Optional[str] = None
    sub_label: Optional[str] = None
    description: Optional[str] = None
    env: Optional[str] = None
    #: As in `GroupedSetup`.
    extra_include_paths: tuple[str, ...] = ()
    extra_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", Language.of(self.language))
        for name in ("stmt", "setup", "global_setup"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise SnippetError(f"{name} must be source text, not {value!r}")
            object.__setattr__(self, name, textwrap.dedent(value).strip("\n"))
        if self.language is Language.CPP and self.setup == "pass":
            object.__setattr__(self, "setup", "")
        if self.global_setup and self.language is Language.PYTHON:
            raise SnippetError("global_setup belongs to C++; in Python everything is setup")
        check_threads((self.num_threads,))
        keep_flags(self)

    @property
    def as_dict(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "stmt": self.stmt,
            "setup": self.setup,
            "num_threads": self.num_threads,
            "language": self.language.value,
        }
        for name in ("global_setup", "label", "sub_label", "description", "env"):
            if getattr(self, name):
                given[name] = getattr(self, name)
        return given


#: What a definition in C++ may ask of its compiler.
FLAGS = ("extra_include_paths", "extra_cflags", "extra_ldflags")


def keep_flags(definition: Any) -> None:
    """Check the flags for the compiler, and keep them as tuples."""
    for name in FLAGS:
        flags = getattr(definition, name)
        if isinstance(flags, str) or not all(isinstance(flag, str) for flag in flags):
            raise SnippetError(f"{name} must be a list of texts, not {flags!r}")
        object.__setattr__(definition, name, tuple(flags))


def check_threads(counts: Any) -> tuple[int, ...]:
    counts = (counts,) if isinstance(counts, int) else tuple(counts)
    for count in counts:
        if type(count) is not int or count < 1:
            raise SnippetError(f"num_threads {count!r} is not a positive integer")
    if not counts or len(set(counts)) < len(counts):
        raise SnippetError(f"num_threads {counts!r} must list each number of threads once")
    return counts
