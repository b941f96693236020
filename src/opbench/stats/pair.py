"""The one comparison of two results: how many times the base, its interval, what a verdict needs.

The table of a run, `compare`, `ab`, factors of layers, the gain of fusion, the page, notebooks and
the rule that stops paired sampling all divide two results here, so the same samples give the same
interval everywhere. Three things that the results carry decide it: the *design* they were measured
by, what the run had *learnt* of its starts and of its drift, and which blocks were *disturbed*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from opbench.stats.contention import CONTENDED_SHARE, Block, disturbed_share, undisturbed
from opbench.stats.drift import ENOUGH
from opbench.stats.prior import Prior
from opbench.stats.ratio import BETWEEN_RUNS, DESIGNS, Ratio, Turned, exp, ratio
from opbench.stats.settling import UNSETTLED, slower_at_first
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt
from opbench.stats.verdict import Question

#: A side with more disturbed blocks than this says more about the machine than about the code, even
#: where the other side was measured in the same seconds, for who waits is a matter of luck.
DISTURBED = 0.5

#: Of two runs, neither may be contended either, for the load of one is not that of the other; but
#: a larger factor than this is not explained by it (beside a busy program, threefold was seen).
BY_LOAD = 5.0

#: Near-deterministic metrics: differences up to this are the noise of hash tables and allocators.
TOLERANCE = {"instructions": 0.001, "bytes": 0.0}


#: The number of a worker start in one result → its number in a comparison.
Numbers = Mapping[int, int]


class Measured(Protocol):
    """A result, as far as it is compared."""

    @property
    def ok(self) -> bool: ...
    @property
    def outcome(self) -> str: ...
    @property
    def outcome_text(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def half_width(self) -> float | None: ...
    @property
    def samples(self) -> Sequence[Block]: ...
    @property
    def detail(self) -> Mapping[str, Any]: ...
    @property
    def group(self) -> str: ...
    @property
    def node(self) -> str: ...


@dataclass(frozen=True)
class Pair:
    """Two results against each other: `value` 1.10 reads as 10 % more than the base."""

    #: new / base and its 95 % interval; None where there is nothing to divide.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    #: Of values that repeat: what differs by less is the same.
    spread: float | None = None
    #: How the two were measured, or `exact` for values that repeat.
    design: str = ""
    #: Known at once for values that repeat; for sampled ones a whole suite decides (`question`).
    verdict: str = "unknown"
    #: Why there is no value, or why no verdict may rest on it.
    reason: str = ""
    #: Of sampled values: the ratio itself.
    ratio: Ratio | None = None
    #: What one worker start of both sides took; None where more of them are not what would help.
    seconds: float | None = None
    #: Whether the number of runs was given: more starts then need more runs.
    fixed: bool = False

    @classmethod
    def of(
        cls, found: Ratio, reason: str = "", seconds: float | None = None, fixed: bool = False
    ) -> Pair:
        interval = (found.value, found.low, found.high)
        return cls(
            *interval,
            design=found.design,
            reason=reason,
            ratio=found,
            seconds=seconds,
            fixed=fixed,
        )

    @property
    def question(self) -> Question | None:
        """What to ask `verdicts`; None where the verdict is known already."""
        if self.ratio is None:
            return None
        numbers = (self.value, self.low, self.high, self.ratio.p_value)
        if self.seconds is None:
            return Question(*numbers, self.reason)
        return Question(*numbers, self.reason, self.ratio, self.seconds, self.fixed)


def compare_results(base: Measured, new: Measured, *, same_run: bool = True) -> Pair:
    """Any two results of one metric. Never raises: what prevents an answer is its `reason`."""
    if obstacle := _obstacle(base, new):
        return Pair(reason=obstacle)
    if not (is_sampled(base) and is_sampled(new)):
        return _exact(base, new)
    design = design_of(base, new, same_run=same_run)
    drifts = drift_of(base), drift_of(new)
    numbers = shared_starts(base, new) if design == "separate" else None
    if numbers is not None:
        design = "shared"
    samples = base.samples, new.samples
    found = compare_samples(*samples, design, learnt_of(base, new), drifts, numbers)
    if found is None:
        return Pair(reason="a time of zero or less has no ratio")
    seconds, fixed = _seconds(base) + _seconds(new), new.detail.get("stopped") == "runs"
    explained = found.low < BY_LOAD and found.high > 1 / BY_LOAD
    most = CONTENDED_SHARE if explained and not same_run else DISTURBED
    reason = _disturbed(most, base=base, new=new)
    if not reason and design == "separate":
        reason = _unsettled(found, base=base, new=new)
    return Pair.of(found, reason, seconds, fixed)


def shared_starts(base: Measured, new: Measured) -> tuple[Numbers, Numbers] | None:
    """For the worker starts of the pool that both were measured in: their numbers in each, and one
    that both get; None where they share none."""
    ours, theirs = (result.detail.get("start_ids") or {} for result in (base, new))
    shared = sorted({*ours.values()} & {*theirs.values()})
    first, second = (
        {int(number): shared.index(id) for number, id in ids.items() if id in shared}
        for ids in (ours, theirs)
    )
    return (first, second) if shared else None


def _disturbed(most: float, **sides: Measured) -> str:
    """Whether other programs disturbed a side too much, in words."""
    for side, result in sides.items():
        if (share := disturbed_share(result.samples)) > most:
            return f"{share:.0%} of the {side} blocks were disturbed by other programs"
    return ""


def _unsettled(found: Ratio, **sides: Measured) -> str:
    """Whether a difference may be that one side was measured earlier in its warm-up, in words."""
    if found.low <= 1 <= found.high:
        return ""
    for side, result in sides.items():
        slower = slower_at_first(result.samples)
        if slower > UNSETTLED and found.low < 1 + slower and found.high > 1 / (1 + slower):
            more = f"its first samples were {slower:.0%} slower than its last"
            return f"{NAMES[side]} had not settled: {more}"
    return ""


def _seconds(result: Measured) -> float:
    """Of one worker start; zero where that was not recorded."""
    starts = len({sample.start for sample in result.samples})
    return float(result.detail.get("seconds") or 0.0) / max(1, starts)


def compare_samples(
    base: Sequence[Block],
    new: Sequence[Block],
    design: str,
    learnt: Learnt = NOTHING_LEARNT,
    drifts: tuple[Prior, Prior] = (BETWEEN_RUNS, BETWEEN_RUNS),
    numbers: tuple[Numbers, Numbers] | None = None,
) -> Ratio | None:
    """The ratio of two sides that are still being sampled; None where they have none.

    Where starts of two runs were the same, `numbers` say which of each side: the others of either
    side tell nothing about the ratio.
    """
    placed = _placed(base, new)
    if numbers is not None:
        placed = [
            [(known[start], number, value) for start, number, value in side if start in known]
            for known, side in zip(numbers, placed, strict=True)
        ]
    first, second = placed
    return ratio(first, second, design, start=learnt.start, pair=learnt.pair, drifts=drifts)


def compare_sum(whole: Measured, parts: Sequence[Measured], *, same_run: bool = True) -> Pair:
    """How many times as long as `whole` do the `parts` take one after the other?

    Parts that ran turn by turn with the whole are added block by block, in the same worker starts.
    What was measured apart has independent errors: its intervals add as squares.
    """
    if not all(result.ok and result.estimate for result in (whole, *parts)):
        return Pair(reason="a part has no value")
    design = design_of(whole, *parts, same_run=same_run)
    if design != "separate":
        base, *others = _placed(whole.samples, *(part.samples for part in parts))
        pair = learnt_of(whole, *parts).pair
        found = ratio(base, _added(others), design, pair=pair)
        if found is not None:
            return Pair.of(found)
    total = sum(part.estimate or 0.0 for part in parts)
    value = total / (whole.estimate or math.inf)
    shares = ((part.half_width or 0.0) * (part.estimate or 0.0) / total for part in parts)
    spread = math.hypot(whole.half_width or 0.0, *shares)
    return Pair(value, value * (1 - spread), value * (1 + spread), design="separate")


def design_of(*results: Measured, same_run: bool = True) -> str:
    """Blocks of one run, group and node were interleaved as recorded; all else was separate."""
    recorded = {(r.group, r.node, str(r.detail.get("design"))) for r in results}
    group, _, design = recorded.pop()
    together = same_run and group and not recorded and design in DESIGNS
    return design if together else "separate"


def learnt_of(*results: Measured) -> Learnt:
    """What the runs had learnt before; where they differ, the larger scatter counts."""
    found = [Learnt.stored(result.detail) for result in results]
    return Learnt(
        max((each.start for each in found), key=_size),
        max((each.pair for each in found), key=_size),
    )


def _size(prior: Prior) -> float:
    return prior.sd


def drift_of(result: Measured) -> Prior:
    """How much the machine's speed drifted during the run; a default where it did not look."""
    drift = result.detail.get("drift")
    if drift is None:
        return BETWEEN_RUNS
    return Prior(float(drift), float(result.detail.get("drift_freedom") or ENOUGH))


def is_sampled(result: Measured) -> bool:
    """Times are sampled; bytes and counts repeat."""
    return result.unit == "s"


def _placed(*sides: Sequence[Block]) -> list[list[Turned]]:
    """Each side's blocks in their turns, without the values of those that do not count.

    Sets are numbered in the order of their forks: the first child of each side was measured turn
    by turn with the first of the others, and so on.
    """
    found = []
    for side, kept in zip(sides, undisturbed(*sides), strict=True):
        counts = {id(block) for block in kept}
        children: dict[int, dict[int, list[Block]]] = {}
        for block in side:
            children.setdefault(block.start, {}).setdefault(block.session, []).append(block)
        found.append(
            [
                (start, number, block.value if id(block) in counts else None)
                for start, sessions in children.items()
                for number, session in enumerate(sorted(sessions))
                for block in sessions[session]
            ]
        )
    return found


def _added(sides: Sequence[Sequence[Turned]]) -> list[Turned]:
    """What the sides took together in each turn that all of them have; no value where one of them
    has none."""
    turns: dict[tuple[int, int, int], list[float | None]] = {}
    for side in sides:
        taken: dict[tuple[int, int], int] = {}
        for start, number, value in side:
            turn = taken[start, number] = taken.get((start, number), -1) + 1
            turns.setdefault((start, number, turn), []).append(value)
    return [
        (start, number, sum(counted) if len(counted) == len(values) else None)
        for (start, number, _), values in sorted(turns.items())
        if len(values) == len(sides)
        for counted in [[value for value in values if value is not None]]
    ]


NAMES = {"base": "the base", "new": "the new side"}
#: Outcomes as verbs, where they are none.
SAID = {
    "timeout": "timed out",
    "out_of_memory": "ran out of memory",
    "unsupported": "is unsupported",
    "mismatch": "gave another result",
}


def _obstacle(base: Measured, new: Measured) -> str:
    """What keeps two results from being compared at all."""
    for side, result in (("base", base), ("new", new)):
        if not result.ok:
            rest = result.outcome_text.removeprefix(result.outcome)
            return f"{NAMES[side]} {SAID.get(result.outcome, result.outcome)}{rest}"
        if result.estimate is None:
            return f"{NAMES[side]} has no value"
        values = (result.estimate, result.low, result.high, *(s.value for s in result.samples))
        if not all(math.isfinite(value) for value in values if value is not None):
            return f"{NAMES[side]} has values that are not finite"
    if base.unit != new.unit:
        return f"one is in {base.unit}, the other in {new.unit}"
    if is_sampled(base):
        fewest = min(len(base.samples), len(new.samples))
        if fewest < 2:
            few = "one sample says" if fewest else "a value without samples says"
            return f"{few} nothing about its own noise"
    elif min(base.estimate or 0.0, new.estimate or 0.0) < 0:
        return f"a negative number of {base.unit} is none"
    return ""


def _exact(base: Measured, new: Measured) -> Pair:
    """Values that repeat: any difference beyond the metric's own spread is real.

    Zero is a value like any other here (a view allocates nothing), but it has no ratio.
    """
    assert base.estimate is not None
    assert new.estimate is not None
    if base.estimate == new.estimate:
        return Pair(1.0, 1.0, 1.0, design="exact", verdict="same")
    more = "slower" if new.estimate > base.estimate else "faster"
    if base.estimate <= 0 or new.estimate <= 0:
        return Pair(design="exact", verdict=more, reason="one side is zero")
    value = new.estimate / base.estimate
    if not 0 < value < math.inf:
        return Pair(reason="the values are too far apart for a ratio")
    spread = max(base.half_width or 0.0, new.half_width or 0.0, TOLERANCE.get(new.unit, 0.0))
    verdict = "same" if abs(math.log(value)) <= spread else more
    low, high = value * exp(-spread), value * exp(spread)
    return Pair(value, low, high, spread=spread, design="exact", verdict=verdict)
