"""Columns that fit a width: each as wide as it can be, and what does not fit one table in the next.

A table that is too wide loses nothing: its columns are shared out among several tables, one below
the other, that all begin with the labels of the rows. Rich would narrow columns down to nothing and
leave out the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """How many characters a column takes."""

    #: Down to this, it is narrowed.
    least: int
    #: On one line.
    most: int


def groups(needs: Sequence[Need], labels: int, room: int, gap: int) -> list[list[int]]:
    """The columns of each table by their numbers: as few tables as there can be, about equally
    full. The first `labels` columns are in all of them; `gap` is between two columns."""
    first, others = list(range(labels)), list(range(labels, len(needs)))
    left = room - sum(needs[index].least + gap for index in first)
    fewest = _filled(needs, others, left, gap)
    widest = max((needs[index].least for index in others), default=0)
    for less in range(min(widest, left), left):
        even = _filled(needs, others, less, gap)
        if len(even) == len(fewest):
            return [[*first, *each] for each in even]
    return [[*first, *each] for each in fewest]


def _filled(needs: Sequence[Need], columns: Sequence[int], room: int, gap: int) -> list[list[int]]:
    """One table after the other; each has a column at least, however wide that is."""
    found: list[list[int]] = [[]]
    taken = 0
    for index in columns:
        more = needs[index].least + (gap if found[-1] else 0)
        if found[-1] and taken + more > room:
            found.append([])
            taken, more = 0, needs[index].least
        found[-1].append(index)
        taken += more
    return found


def widths(needs: Sequence[Need], room: int) -> list[int]:
    """The widest columns are narrowed first, none below what it needs while there is room."""
    if sum(need.least for need in needs) > room:
        return _leveled([0] * len(needs), [need.least for need in needs], room)
    return _leveled([need.least for need in needs], [need.most for need in needs], room)


def _leveled(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """As wide as `most`, down to one level that is common to those which are wider."""

    def at(level: int) -> list[int]:
        return [max(low, min(high, level)) for low, high in zip(least, most, strict=True)]

    level = max(most, default=0)
    while level > 1 and sum(at(level)) > room:
        level -= 1
    found = at(level)
    spare = room - sum(found)
    for index, high in enumerate(most):
        if spare > 0 and found[index] < high:
            found[index] += 1
            spare -= 1
    return [max(1, width) for width in found]
