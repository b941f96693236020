"""What went wrong with a store, in one line for the person who asked for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StoreError(Exception):
    """One clear line, meant to be printed as it is: what was wrong, where, what to do."""


class NotFound(StoreError):
    """The store is in order, but has nothing of that name."""


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
