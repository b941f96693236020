"""Errors written for the person who made the mistake.

A `UserError` is one line: what was wrong, where, and what would be right. The command line prints
it and exits with 2; from Python it is a `ValueError`, which is what callers expect to catch.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """One clear line, meant to be printed as it is: what was wrong, where, what to do."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown clock 'cud'; did you mean cuda?`, or all the names where none is near."""
    names = list(known)
    lower = {each.lower(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.lower(), list(lower), n=3)
    if close:
        return f"unknown {what} '{name}'; did you mean {' or '.join(lower[one] for one in close)}?"
    return f"unknown {what} '{name}'; choose from: {', '.join(names)}"


def nearest(wanted: str, known: Iterable[str]) -> str:
    """`; nearest: a, b` for the end of an error message, or nothing when nothing is near."""
    lower: dict[str, str] = {}
    for name in known:
        lower.setdefault(name.lower(), name)
    close = difflib.get_close_matches(wanted.lower(), list(lower), n=3, cutoff=0.4)
    return f"; nearest: {', '.join(lower[name] for name in close)}" if close else ""


def first_of(names: Iterable[str], shown: int = 5) -> str:
    """`a, b, c and 7 more`."""
    listed = list(names)
    rest = len(listed) - shown
    return ", ".join(listed[:shown]) + (f" and {rest} more" if rest > 0 else "")
