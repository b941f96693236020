"""Where instructions go, function by function, and what changed between two results.

`stats_of` gives an object that is used like `torch.utils.benchmark.CallgrindStats`; `difference` is
how people find the cause of a change: the functions that gained or lost most, largest first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opbench.analyse.compare import Comparison
from opbench.analyse.function_counts import FunctionCounts, InstructionStats
from opbench.case import Case
from opbench.counting import Damaged, Profile
from opbench.errors import UserError
from opbench.result import Result


class NoFunctions(UserError):
    """A result that holds no counts by function; the text says what to do."""


@dataclass(frozen=True)
class FunctionChange:
    """Instructions per call of one function, or of one group of them, on both sides."""

    function: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class FunctionView:
    """Which functions to show, and under which names.

    `match` keeps functions in whose name the expression is found; `group` adds up those for which
    it finds the same text (its first group, if it has one), and leaves the others under `other`.
    `raw` includes the internals of allocators and hash tables, which the metric leaves out.
    """

    match: str = ""
    group: str = ""
    raw: bool = False

    def of(self, counts: FunctionCounts) -> FunctionCounts:
        if not self.raw:
            counts = counts.denoise()
        if self.match:
            counts = counts.filter(lambda name: re.search(self.match, name) is not None)
        if self.group:
            counts = counts.transform(lambda name: grouped(self.group, name))
        return counts


AS_COUNTED = FunctionView()


def stats_of(result: Result, case: Case | None = None) -> InstructionStats:
    packed = result.detail.get("functions")
    if not isinstance(packed, str):
        raise NoFunctions(
            f"the result of {result.metric} holds no functions; measure --metric instructions"
        )
    try:
        profile = Profile.unpack(packed)
    except Damaged as error:
        raise NoFunctions(str(error)) from None
    calls = result.detail.get("calls")
    return InstructionStats(profile, calls if isinstance(calls, int) and calls > 0 else 1, case)


def by_function(
    stats: InstructionStats, view: FunctionView = AS_COUNTED, inclusive: bool = False
) -> list[tuple[str, float]]:
    """(function, instructions per call), largest first; with all it calls, if `inclusive`."""
    counts = view.of(stats.stats(inclusive))
    return [(row.function, row.count / stats.number_per_run) for row in counts]


def difference(
    before: Result, after: Result, view: FunctionView = AS_COUNTED
) -> list[FunctionChange]:
    """What each function takes on both sides, those that changed most first; unchanged ones are
    left out. Of two different numbers of calls, both are per call."""
    sides = [dict(by_function(stats_of(result), view)) for result in (before, after)]
    changes = [
        FunctionChange(name, sides[0].get(name, 0.0), sides[1].get(name, 0.0))
        for name in {**sides[0], **sides[1]}
    ]
    changed = [change for change in changes if change.change]
    return sorted(changed, key=lambda change: (-abs(change.change), change.function))


@dataclass(frozen=True)
class CaseChanges:
    """The functions that changed the count of one case."""

    case_id: str
    rows: tuple[FunctionChange, ...]
    #: Instructions of one call before.
    before: float

    @property
    def size(self) -> float:
        """The relative change of the case."""
        return abs(sum(row.change for row in self.rows)) / (abs(self.before) or 1.0)


def changes_in(comparison: Comparison, view: FunctionView = AS_COUNTED) -> list[CaseChanges]:
    """Of each case whose instructions were counted on both sides, largest change first.

    Empty where no function changed; NoFunctions where nothing was counted on both sides.
    """
    counted = [
        (row.case_id, row.base, row.new)
        for row in comparison.rows
        if row.metric == "instructions" and row.base and row.base.ok and row.new and row.new.ok
    ]
    if not counted:
        raise NoFunctions("--functions compares instructions; run both with --metric instructions")
    found = [
        CaseChanges(case_id, tuple(difference(before, after, view)), before.estimate or 0.0)
        for case_id, before, after in counted
    ]
    return sorted((each for each in found if each.rows), key=lambda each: -each.size)


def grouped(pattern: str, name: str) -> str:
    found = re.search(pattern, name)
    if found is None:
        return "other"
    return (found.group(1) if found.re.groups else found.group()) or "other"
