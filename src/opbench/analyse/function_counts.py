"""Counts by function with the methods of `torch.utils.benchmark.CallgrindStats`.

What people wrote for the one works on the other: iterate over (count, function), slice, add,
subtract, multiply, filter, rename, `delta`, `denoise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, overload

from opbench.case import Case
from opbench.counting import Function, Profile, noise, write
from opbench.errors import UserError
from opbench.files import writing


class NotKept(UserError):
    """What a result does not hold; the text says why."""


NO_CALLS = (
    "this result does not hold what calls executed: on Arm Callgrind cannot tell; elsewhere, count "
    "it again with this version of opbench"
)


class FunctionCount(NamedTuple):
    count: int  # type: ignore[assignment]  # the name is torch's; it hides a method of tuples
    function: str


@dataclass(frozen=True)
class FunctionCounts(Sequence[FunctionCount]):
    """Counts by function, largest first. As in torch, counts are of all calls together, and what
    became less is last."""

    rows: tuple[FunctionCount, ...]
    #: Whether each function includes all it called.
    inclusive: bool = False

    @classmethod
    def of(cls, counts: dict[str, int], inclusive: bool = False) -> FunctionCounts:
        rows = (FunctionCount(count, name) for name, count in counts.items() if count)
        return cls(tuple(sorted(rows, reverse=True)), inclusive)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> FunctionCount: ...

    @overload
    def __getitem__(self, index: slice) -> FunctionCounts: ...

    def __getitem__(self, index: int | slice) -> FunctionCount | FunctionCounts:
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        return self.rows[index]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._with(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._with(other, -1)

    def __mul__(self, factor: float) -> FunctionCounts:
        """Every count multiplied, as whole numbers: to compare different numbers of calls."""
        counts = {name: int(count * factor) for count, name in self.rows}
        return FunctionCounts.of(counts, self.inclusive)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        shown = [f"{row.count:>14,}  {row.function}" for row in self.rows[:18]]
        more = [f"{'':>14}  … and {len(self) - 18} more"] if len(self) > 18 else []
        return "\n".join([*shown, *more, f"\nTotal: {self.sum():,}"])

    def sum(self) -> int:
        return sum(row.count for row in self.rows)

    def filter(self, keep: Callable[[str], bool]) -> FunctionCounts:
        return replace(self, rows=tuple(row for row in self.rows if keep(row.function)))

    def transform(self, rename: Callable[[str], str]) -> FunctionCounts:
        """Under other names; functions that come to share one are added up."""
        counts: dict[str, int] = {}
        for row in self.rows:
            name = rename(row.function)
            counts[name] = counts.get(name, 0) + row.count
        return FunctionCounts.of(counts, self.inclusive)

    def denoise(self) -> FunctionCounts:
        """As `instructions` counts: without the internals of allocators and hash tables."""
        return self.filter(lambda name: not noise(split(name)))

    def _with(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise UserError("inclusive and exclusive counts cannot be added or subtracted")
        counts = {row.function: row.count for row in self.rows}
        for row in other.rows:
            counts[row.function] = counts.get(row.function, 0) + sign * row.count
        return FunctionCounts.of(counts, self.inclusive)


@dataclass(frozen=True)
class TaskSpec:
    """What was counted, under the names of torch's `TaskSpec`."""

    stmt: str
    setup: str
    global_setup: str
    num_threads: int
    label: str


@dataclass(frozen=True, repr=False)
class InstructionStats:
    """The counts of one result; names are standardised, the empty loop is taken off."""

    profile: Profile
    #: Calls that were counted together.
    number_per_run: int
    #: What was counted; torch's `task_spec` has the same `stmt`, `setup` and `num_threads`.
    case: Case | None = None

    @property
    def task_spec(self) -> TaskSpec:
        case = self.case
        if case is None:
            raise ValueError("which statement was counted is not known; give stats_of() its case")
        return TaskSpec(case.stmt, case.setup, case.globals, case.threads, case.id)

    @property
    def stmt_callgrind_out(self) -> str:
        """The counts in Callgrind's format, for KCachegrind."""
        return write(self.profile, self.case.id if self.case else "")

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Instructions of each function itself, or with all it called."""
        if inclusive and not self.profile.spent:
            raise NotKept(NO_CALLS)
        counts = self.profile.inclusive() if inclusive else self.profile.own
        return FunctionCounts.of({str(f): count for f, count in counts.items()}, inclusive)

    def counts(self, *, denoise: bool = False) -> int:
        stats = self.stats()
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: InstructionStats, inclusive: bool = False) -> FunctionCounts:
        """What this one executes more than the other, in as many calls as this one counted: how
        many that are depends on how long a call is."""
        theirs = other.stats(inclusive)
        if self.number_per_run != other.number_per_run:
            theirs = theirs * (self.number_per_run / other.number_per_run)
        return self.stats(inclusive) - theirs

    def as_standardized(self) -> InstructionStats:
        return self

    def __repr__(self) -> str:
        about = f"{self.case.id}\n" if self.case else ""
        return (
            f"<opbench InstructionStats>\n{about}{self.counts(denoise=True):>14,}  instructions in "
            f"{self.number_per_run} calls, {self.counts():,} with allocators and hash tables"
        )

    def lines(self) -> list[tuple[str, float]]:
        """(file:line, instructions per call), costliest first."""
        lines = sorted(self.profile.lines.items(), key=lambda item: (-item[1], item[0]))
        return [(f"{file}:{line}", cost / self.number_per_run) for (file, line), cost in lines]

    def write_callgrind(self, path: str | Path) -> None:
        """A file for KCachegrind, speedscope or callgrind_annotate."""
        with writing(Path(path)) as partial:
            partial.write_text(self.stmt_callgrind_out, encoding="utf-8")


def split(name: str) -> Function:
    """A function from how it is written: `malloc [libc.so]`."""
    bare, bracket, object_ = name.rpartition(" [")
    return Function(bare, object_[:-1]) if bracket and name.endswith("]") else Function(name)
