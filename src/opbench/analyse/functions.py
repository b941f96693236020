"""Where instructions go, function by function, and what changed between two results.

`stats_of` gives an object that is used like `torch.utils.benchmark.CallgrindStats`; `difference` is
how people find the cause of a change: the functions that gained or lost most, largest first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from opbench.counting import Function, Profile, noise, write
from opbench.result import Result


class NoFunctions(ValueError):
    """A result that holds no counts by function; the text says what to do."""


@dataclass(frozen=True)
class FunctionCount:
    count: int
    function: str


@dataclass(frozen=True)
class FunctionCounts(Sequence[FunctionCount]):
    """Counts by function, largest first. As in torch, counts are of all calls together."""

    rows: tuple[FunctionCount, ...]

    @classmethod
    def of(cls, counts: dict[str, int]) -> FunctionCounts:
        ordered = sorted(counts.items(), key=lambda item: (-abs(item[1]), item[0]))
        return cls(tuple(FunctionCount(count, name) for name, count in ordered if count))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> FunctionCount: ...

    @overload
    def __getitem__(self, index: slice) -> FunctionCounts: ...

    def __getitem__(self, index: int | slice) -> FunctionCount | FunctionCounts:
        return FunctionCounts(self.rows[index]) if isinstance(index, slice) else self.rows[index]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._with(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._with(other, -1)

    def __repr__(self) -> str:
        shown = [f"{row.count:>14,}  {row.function}" for row in self.rows[:18]]
        more = [f"{'':>14}  … and {len(self) - 18} more"] if len(self) > 18 else []
        return "\n".join([*shown, *more, f"\nTotal: {self.sum():,}"])

    def sum(self) -> int:
        return sum(row.count for row in self.rows)

    def filter(self, keep: Callable[[str], bool]) -> FunctionCounts:
        return FunctionCounts(tuple(row for row in self.rows if keep(row.function)))

    def transform(self, rename: Callable[[str], str]) -> FunctionCounts:
        """Under other names; functions that come to share one are added up."""
        counts: dict[str, int] = {}
        for row in self.rows:
            name = rename(row.function)
            counts[name] = counts.get(name, 0) + row.count
        return FunctionCounts.of(counts)

    def denoise(self) -> FunctionCounts:
        """Without the internals of allocators and hash tables."""
        return self.filter(lambda name: not noise(split(name)))

    def _with(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        counts = {row.function: row.count for row in self.rows}
        for row in other.rows:
            counts[row.function] = counts.get(row.function, 0) + sign * row.count
        return FunctionCounts.of(counts)


@dataclass(frozen=True)
class InstructionStats:
    """The counts of one result; names are standardised, the empty loop is taken off."""

    profile: Profile
    #: Calls that were counted together.
    number_per_run: int

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Instructions of each function itself; see `opbench.counting.profile` for the rest."""
        if inclusive:
            raise ValueError(
                "inclusive counts are not kept: what Callgrind says of them is a guess"
            )
        return FunctionCounts.of({str(f): count for f, count in self.profile.own.items()})

    def counts(self, *, denoise: bool = False) -> int:
        stats = self.stats()
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: InstructionStats, inclusive: bool = False) -> FunctionCounts:
        """What this one executes more than the other."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> InstructionStats:
        return self

    def write_callgrind(self, path: str | Path, command: str = "") -> None:
        """A file for KCachegrind or callgrind_annotate."""
        Path(path).write_text(write(self.profile, command), encoding="utf-8")


@dataclass(frozen=True)
class FunctionChange:
    """Instructions per call of one function, or of one group of them, on both sides."""

    function: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


def stats_of(result: Result) -> InstructionStats:
    packed = result.detail.get("functions")
    if not isinstance(packed, str):
        raise NoFunctions(
            f"the result of {result.metric} holds no functions; measure --metric instructions"
        )
    return InstructionStats(Profile.unpack(packed), int(result.detail.get("calls") or 1))


def by_function(
    stats: InstructionStats, *, match: str = "", group: str = ""
) -> list[tuple[str, float]]:
    """(function, instructions per call), largest first.

    `match` keeps functions in whose name the expression is found; `group` adds up those for which
    it finds the same text (its first group, if it has one), and leaves the others under `other`.
    """
    counts = named(stats.stats(), match, group)
    return [(row.function, row.count / stats.number_per_run) for row in counts]


def difference(
    before: Result, after: Result, *, match: str = "", group: str = ""
) -> list[FunctionChange]:
    """What each function takes on both sides, those that changed most first; unchanged ones are
    left out. Of two different numbers of calls, both are per call."""
    sides = [
        dict(by_function(stats_of(result), match=match, group=group)) for result in (before, after)
    ]
    changes = [
        FunctionChange(name, sides[0].get(name, 0.0), sides[1].get(name, 0.0))
        for name in {**sides[0], **sides[1]}
    ]
    changed = [change for change in changes if change.change]
    return sorted(changed, key=lambda change: (-abs(change.change), change.function))


def named(counts: FunctionCounts, match: str, group: str) -> FunctionCounts:
    if match:
        counts = counts.filter(lambda name: re.search(match, name) is not None)
    if group:
        counts = counts.transform(lambda name: grouped(group, name))
    return counts


def grouped(pattern: str, name: str) -> str:
    found = re.search(pattern, name)
    if found is None:
        return "other"
    return (found.group(1) if found.re.groups else found.group()) or "other"


def split(name: str) -> Function:
    """A function from how it is written: `malloc [libc.so]`."""
    bare, bracket, object_ = name.rpartition(" [")
    return Function(bare, object_[:-1]) if bracket and name.endswith("]") else Function(name)
