"""For each operator of a captured step, the best of the variants that were measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opbench.capture.calls import Capture, OperatorCall
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.suites.captured.account import Replay, Variant, variant_text


@dataclass(frozen=True)
class Best:
    """One operator: what it takes of the step, and the best that was measured for its calls."""

    operator: str
    count: float
    seconds: float
    share: float | None
    #: Seconds per step with the best variant of each of its calls.
    best_seconds: float
    #: The variant that saves most, as text; empty where what was captured is the best.
    variant: str
    #: Variants that gave another result, or none: variant → reason.
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def gain(self) -> float:
        return self.seconds / self.best_seconds if self.best_seconds else 1.0


@dataclass(frozen=True)
class Choice:
    rows: tuple[Best, ...]
    #: The step as it is, and with the best of each operator; what is unexplained stays.
    step: float
    best_step: float
    variants: tuple[str, ...]


@dataclass(frozen=True)
class CallChoice:
    """One call, in seconds per step: as captured, and in its best variant."""

    call: OperatorCall
    seconds: float
    best_seconds: float
    variant: Variant = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def choose(replay: Replay, mode: str = "hot") -> Choice | None:
    """The best variant of each call; None where only one was measured."""
    by_call: dict[int, dict[Variant, Result]] = defaultdict(dict)
    for each in replay.calls:
        if each.mode == mode:
            by_call[each.call.index][each.variant] = each.result
    variants = {variant for results in by_call.values() for variant in results if variant}
    if not variants:
        return None
    capture = replay.capture
    groups: dict[str, list[CallChoice]] = defaultdict(list)
    for index, results in by_call.items():
        call = capture.calls[index]
        if () in results and results[()].ok:
            groups[call.qualified].append(best_variant(call, results, capture.steps))
    step = replay.step
    rows = [best_of(name, choices, capture, step) for name, choices in groups.items()]
    rows.sort(key=lambda row: -row.seconds)
    saved = sum(row.seconds - row.best_seconds for row in rows)
    total = step if step is not None else sum(row.seconds for row in rows)
    texts = tuple(sorted(variant_text(variant) for variant in variants))
    return Choice(tuple(rows), total, max(total - saved, 0.0), texts)


def best_variant(call: OperatorCall, results: Mapping[Variant, Result], steps: int) -> CallChoice:
    base, count = results[()], call.count / steps
    seconds = best = (base.estimate or 0.0) * count
    chosen: Variant = ()
    refused = {}
    for variant, result in results.items():
        if not result.ok:
            refused[variant_text(variant)] = result.outcome_text
        elif clearly_faster(result, base) and (result.estimate or 0.0) * count < best:
            best, chosen = (result.estimate or 0.0) * count, variant
    return CallChoice(call, seconds, best, chosen, refused)


def clearly_faster(result: Result, base: Result) -> bool:
    """The whole interval of their ratio is below 1, so that noise alone is never a gain."""
    high = compare_results(base, result).high
    return high is not None and high < 1


def best_of(
    operator: str, choices: Sequence[CallChoice], capture: Capture, step: float | None
) -> Best:
    seconds = sum(choice.seconds for choice in choices)
    saved: dict[Variant, float] = defaultdict(float)
    refused: dict[str, str] = {}
    for choice in choices:
        if choice.variant:
            saved[choice.variant] += choice.seconds - choice.best_seconds
        refused.update(choice.refused)
    top = max(saved, key=lambda variant: saved[variant]) if saved else ()
    return Best(
        operator,
        count=sum(choice.call.count for choice in choices) / capture.steps,
        seconds=seconds,
        share=seconds / step if step else None,
        best_seconds=sum(choice.best_seconds for choice in choices),
        variant=variant_text(top) + (" and others" if len(saved) > 1 else ""),
        refused=tuple(refused.items()),
    )
