"""From samples to results: estimate, interval, warnings; or the outcome in place of a number."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from opbench.case import Case
from opbench.plan.policy import Adaptive, Fixed, Policy
from opbench.result import Metric, Result, Sample
from opbench.sampling.design import estimate_of
from opbench.sampling.lane import Lane
from opbench.sampling.sampler import Sampled
from opbench.stats.contention import CONTENDED_SHARE, disturbed_share, undisturbed
from opbench.stats.estimate import Estimate, starts_for
from opbench.stats.groups import two_speeds
from opbench.stats.needed import MOST_STARTS
from opbench.stats.settling import UNSETTLED, slower_at_first
from opbench.stats.start_variance import Learnt
from opbench.workers.session import SessionEnded

#: Below this share of throttled blocks the median does not see them.
THROTTLED_SHARE = 0.1

#: An interval this little wider than asked is as good as asked.
NEARLY = 1.1

#: Fewer worker starts leave the interval to what starts are known to do elsewhere.
FEW_STARTS = 3

#: Code of the warning about a time that cannot be distinguished from zero.
ZERO_TIME = "zero-time"
#: Code of the warning about a time of launches.
GPU_NOT_AWAITED = "gpu-not-awaited"
#: A loop around a call takes some 10 ns in Python: an interval that reaches zero is wide for other
#: reasons where a call takes longer.
LOOP_SECONDS = 1e-8
#: Less than a cycle of any processor is no time of a call, however narrow its interval.
CYCLE_SECONDS = 2e-10

NOT_SAMPLED = SessionEnded("failed", "no block of it was measured")


def sampled_result(
    sampled: Sampled, metric: Metric, policy: Policy, place: Mapping[str, Any]
) -> Result:
    """The result of the metric that a slot was sampled for."""
    if sampled.ended is not None:
        return failure(sampled.case, metric, sampled.ended, place)
    detail = _detail(sampled, metric)
    return from_samples(sampled.case, metric, sampled.samples, detail, policy, place)


def also_sampled_result(
    sampled: Sampled, metric: Metric, policy: Policy, place: Mapping[str, Any]
) -> Result:
    """The same for a metric that was measured with another one, in the same children."""
    lanes = sampled.lanes
    samples = tuple(sample for lane in lanes for sample in lane.samples.get(metric.name, ()))
    refused = (lane.refused[metric.name] for lane in lanes if metric.name in lane.refused)
    ended = sampled.ended or (None if samples else next(refused, NOT_SAMPLED))
    if ended is not None:
        return failure(sampled.case, metric, ended, place)
    # What starts do to the other metric is not what they do to this one.
    detail = {k: v for k, v in _detail(sampled, metric).items() if k not in sampled.learnt.detail}
    return from_samples(sampled.case, metric, samples, detail, policy, place)


def start_ids(lanes: Sequence[Lane]) -> dict[str, Any]:
    """By the number of a start in this run: which start of the pool it was."""
    found = {str(lane.start): lane.start_id for lane in lanes if lane.start_id}
    return {"start_ids": found} if found else {}


def _detail(sampled: Sampled, metric: Metric) -> dict[str, Any]:
    """What a reader may want to know about how the samples came about."""
    lanes = sampled.lanes
    seen = [each for lane in lanes for each in lane.seen if each["metric"] == metric.name]
    left_out = {name: why for lane in lanes for name, why in lane.left_out.items()}
    return {
        **({"seen": seen} if seen else {}),
        **({"left_out": left_out} if left_out else {}),
        **({"gpu_in_use": True} if any(lane.device_bytes for lane in lanes) else {}),
        **start_ids(lanes),
        "way": sampled.case.timing_mode,
        "stopped": sampled.stopped,
        "starts": len({lane.start for lane in lanes}),
        "sessions": len(lanes),
        "design": sampled.relation,
        "calls_per_block": [lane.n for lane in lanes],
        "first_call": [lane.warmup.get("first") for lane in lanes],
        **sampled.learnt.detail,
        "settled": all(lane.warmup.get("settled", True) for lane in lanes),
        "seconds": round(sampled.spent, 3),
    }


def from_samples(
    case: Case,
    metric: Metric,
    samples: tuple[Sample, ...],
    detail: dict[str, Any],
    policy: Policy,
    place: Mapping[str, Any],
) -> Result:
    found = estimate_of(samples, Learnt.stored(detail).start)
    assert found is not None, "a case that did not fail has samples"
    result = Result(
        case_hash=case.hash,
        metric=metric.name,
        unit=metric.unit,
        estimate=found.value,
        low=found.low,
        high=found.high,
        samples=samples,
        detail={**detail, "within": found.within, "between": found.between},
        created=time.time(),
        **place,
    )
    for code, text in _warnings(case, result, found, policy):
        result = result.with_warning(code, text)
    return result


def _warnings(
    case: Case, result: Result, found: Estimate, policy: Policy
) -> Iterator[tuple[str, str]]:
    """Code and text: one sentence that says what is true of this case, and what to do."""
    if case.device == "cpu" and result.unit == "s" and result.detail.get("gpu_in_use"):
        yield (
            GPU_NOT_AWAITED,
            "it uses a GPU, for which this clock does not wait; measure it with --device cuda",
        )
    held = [each for each in result.detail.get("seen") or () if each.get("throttled")]
    share = disturbed_share(result.samples)
    if held and (of := len(held) / len(result.samples)) > THROTTLED_SHARE:
        yield (
            "throttled",
            f"the GPU was held back ({held[-1]['throttled']}) in {of:.0%} of the blocks; lock its "
            "clocks below that: sudo nvidia-smi -lgc MHZ",
        )
    elif share > CONTENDED_SHARE:
        yield (
            "contended",
            f"{share:.0%} of the blocks were disturbed by other programs, here or on the host of a "
            "virtual machine; close those you can, or measure at a quieter time",
        )
    if _not_above_zero(result):
        # What else could be said of it is about the loop.
        yield ZERO_TIME, _zero_time(case, result)
        return
    slower = slower_at_first(result.samples)
    if slower > UNSETTLED:
        cause = "other programs ran, or it was not warm" if share else "it was not warm"
        yield (
            "unsettled",
            f"its first samples were {slower:.0%} slower than its last: {cause}; raise "
            "--max-time-per-case for a longer warm-up",
        )
    wide = result.half_width
    if isinstance(policy, Adaptive) and wide is not None and wide > NEARLY * policy.precision:
        yield (
            "imprecise",
            f"its interval is wider than the asked ±{100 * policy.precision:.3g}%, because "
            f"{_why_wide(result, found, policy)}",
        )
    if len(result.samples) == 1:
        yield "one-sample", f"a single sample does not show its noise; {_get_more(policy)}"
    elif found.starts < FEW_STARTS:
        count = "a single worker start" if found.starts == 1 else f"{found.starts} worker starts"
        yield (
            "few-starts",
            f"it rests on {count}, too few to show how much starts differ, so it is wide; "
            f"{_get_more(policy, starts=True)}",
        )
    if found.groups is not None:
        low, high = (sum(group) / len(group) for group in found.groups)
        yield (
            "two-groups",
            f"its starts fall into two groups: {len(found.groups[1])} of {found.starts} took "
            f"{high / low - 1:.0%} longer than the others; see them with opbench show",
        )
    elif (speeds := two_speeds(_blocks(result.samples), found.low, found.high)) is not None:
        share, factor, mean = speeds
        kind = f"{1 - factor:.0%} less" if factor < 1 else f"{factor - 1:.0%} more"
        yield (
            "two-speeds",
            f"its blocks run at two speeds: {share:.0%} of them take {kind} time than the others, "
            f"and the mean of all is {mean / found.value:.2f} times this estimate, their median; "
            "see them with opbench show",
        )


def _not_above_zero(result: Result) -> bool:
    """Whether a time cannot be distinguished from zero: the loop around the calls is taken off."""
    if result.unit != "s" or result.estimate is None or result.low is None:
        return False
    reaches_zero = result.low <= 0 and result.estimate < LOOP_SECONDS
    return reaches_zero or result.estimate < CYCLE_SECONDS


def _zero_time(case: Case, result: Result) -> str:
    if case.device != "cpu" and not any(sample.value for sample in result.samples):
        return (
            "it launches nothing: the device had no work in any of its calls; the time on the host "
            "is host_time"
        )
    less = "a call takes less than the loop around it varies here"
    if case.language == "cpp":
        return (
            f"its time cannot be distinguished from zero: {less}, or the compiler removed the "
            "statement; give it more to do, and a result that the compiler must keep (volatile)"
        )
    return f"its time cannot be distinguished from zero: {less}; give it more to do"


def _blocks(samples: Sequence[Sample]) -> list[list[float]]:
    """The values of each worker start, of the blocks that count."""
    (kept,) = undisturbed(samples)
    starts: dict[int, list[float]] = {}
    for sample in kept:
        starts.setdefault(sample.start, []).append(sample.value)
    return list(starts.values())


def _get_more(policy: Policy, starts: bool = False) -> str:
    """How to get more samples, or more worker starts."""
    fixed = isinstance(policy, Fixed)
    if starts and getattr(policy, "starts" if fixed else "max_starts", FEW_STARTS) < FEW_STARTS:
        return "raise --max-starts"
    return "raise --num-runs" if fixed else "raise --max-time-per-case"


def _why_wide(result: Result, found: Estimate, policy: Adaptive) -> str:
    """What kept an interval from narrowing, and what to do about it."""
    if result.detail.get("stopped") != "starts":
        return (
            "the time for this case was spent; raise --max-time-per-case, or quiet the machine "
            "(opbench doctor)"
        )
    needed = starts_for(policy.precision, found.between, most=MOST_STARTS)
    # One of a comparison whose sides did not fit into memory together is not marked as one.
    alone = result.detail.get("design") != "separate"
    ways = ["compare side by side (opbench run --baseline, opbench ab)"] * alone
    if needed < MOST_STARTS:
        ways.append(f"raise --max-starts to {needed}")
    return (
        f"worker starts of identical code differ by {found.between:.1%} here and longer sampling "
        f"will not help; {', or '.join(ways) or 'quiet the machine (opbench doctor)'}"
    )


def exact_results(
    case: Case,
    answers: Sequence[Mapping[str, Any]],
    described: Metric,
    place: Mapping[str, Any],
) -> list[Result]:
    """Results of a metric that is measured at once, in one worker start or in several; one
    measurement may yield several."""
    results = []
    for name, found in _mean([answer["results"] for answer in answers]).items():
        values = [float(value) for value in found["samples"]]
        results.append(
            Result(
                case_hash=case.hash,
                metric=name,
                unit=found.get("unit", described.unit),
                estimate=max(values),
                low=min(values),
                high=max(values),
                samples=tuple(Sample(value, order=i) for i, value in enumerate(values)),
                detail=found.get("detail", {}),
                created=time.time(),
                **place,
            )
        )
    return results


def _mean(found: Sequence[Any]) -> Any:
    """The mean of numbers that differ, by name and place; where a name is missing, of the rest."""
    first = found[0]
    if isinstance(first, Mapping):
        names = dict.fromkeys(name for each in found for name in each)
        return {name: _mean([each[name] for each in found if name in each]) for name in names}
    if isinstance(first, (list, tuple)):
        return [_mean(values) for values in zip(*found, strict=False)]
    if isinstance(first, (int, float)) and any(each != first for each in found):
        return fmean(found)
    return first


def failure(case: Case, metric: Metric, ended: SessionEnded, place: Mapping[str, Any]) -> Result:
    detail = {}
    if ended.traceback:
        detail["traceback"] = ended.traceback
    if ended.output:
        detail["output"] = ended.output
    return Result(
        case_hash=case.hash,
        metric=metric.name,
        unit=metric.unit,
        outcome=ended.outcome,
        reason=ended.reason,
        detail=detail,
        created=time.time(),
        **place,
    )
