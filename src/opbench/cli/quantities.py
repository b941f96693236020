"""What stands after an option: `60s`, `1%`, `n=64,512`, `0,1`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer


def checked(parse: Callable[[Any], Any]) -> Callable[[str | None], Any]:
    """A typer callback from a function that raises ValueError with a readable text."""

    def callback(value: str | None) -> Any:
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return callback


def duration(value: str) -> float:
    from opbench.define.reading import seconds

    return seconds(value)


def share(value: str) -> float:
    from opbench.define.reading import fraction

    return fraction(value)


def expression(value: str) -> str:
    """A regular expression, as it is; one that is none is said so."""
    import re

    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"'{value}' is no regular expression: {error}") from None
    return value


def cpu_list(value: str) -> tuple[int, ...]:
    """`0,1` or `0-3`."""
    import os

    cpus: list[int] = []
    for part in value.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"expected CPU numbers like 0,1 or 0-3, found {value!r}")
        several = range(int(first), int(last if dash else first) + 1)
        if not several:
            raise ValueError(f"expected CPU numbers like 0,1 or 0-3, found {value!r}")
        cpus += several
    usable = os.sched_getaffinity(0)
    missing = [cpu for cpu in cpus if cpu not in usable]
    if missing:
        have = ", ".join(map(str, sorted(usable)))
        raise ValueError(f"CPU {missing[0]} is not available here; there is {have}")
    return tuple(cpus)


def names(values: Iterable[str]) -> tuple[str, ...]:
    """`--metric time,memory` and `--metric time --metric memory` are the same."""
    return tuple(name for value in values for name in value.split(",") if name)


def axes(values: Iterable[str]) -> dict[str, list[str]]:
    """`-a n=64,512 -a dtype=float32`; the same axis twice adds its values."""
    found: dict[str, list[str]] = {}
    for text in values:
        axis, equals, given = text.partition("=")
        if not equals or not axis or not given:
            raise typer.BadParameter(f"an axis is written AXIS=V1,V2, not '{text}'")
        found.setdefault(axis, []).extend(value for value in given.split(",") if value)
    return found
