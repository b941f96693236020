"""Errors written for the person who made the mistake.

A `UserError` is one line: what was wrong, where, and what would be right. The command line prints
it and exits with 2; from Python it is a `ValueError`, which is what callers expect to catch.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Exit code of commands where what was asked for, or what a gate is about, could not be measured.
UNMEASURED = 3


class UserError(ValueError):
    """One clear line, meant to be printed as it is: what was wrong, where, what to do."""


class Terminated(KeyboardInterrupt):
    """Asked to end by a signal other than Ctrl-C: what is finished is kept, as after Ctrl-C."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown clock 'cud'; did you mean cuda?`, or all the names where none is near."""
    names = list(known)
    hint = nearest(name, names, cutoff=0.6) or f"; choose from: {', '.join(names)}"
    return f"unknown {what} '{name}'{hint}"


def nearest(wanted: str, known: Iterable[str], cutoff: float = 0.4) -> str:
    """`; did you mean a or b?` for the end of an error message; empty where nothing is near.

    A lower `cutoff` suits names of which a person remembers a part.
    """
    lower: dict[str, str] = {}
    for name in known:
        lower.setdefault(name.lower(), name)
    close = difflib.get_close_matches(wanted.lower(), list(lower), n=3, cutoff=cutoff)
    return f"; did you mean {' or '.join(lower[name] for name in close)}?" if close else ""


def printable(text: str) -> str:
    """The text with everything that could steer a terminal, or begin another line, spelled out:
    what a file or its name says is shown, never obeyed."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `1,234 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_of(names: Iterable[str], shown: int = 5) -> str:
    """`a, b, c and 7 more`."""
    listed = list(names)
    rest = len(listed) - shown
    return ", ".join(listed[:shown]) + (f" and {rest} more" if rest > 0 else "")
