"""From what a group gave to results: estimate, interval, warnings, or the outcome in its way."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from opbench.case import Case
from opbench.plan.policy import Adaptive, Policy
from opbench.result import Metric, Result, Sample
from opbench.sampling.group import Group, Member, detail_of, estimate_of
from opbench.stats.contention import disturbed_share
from opbench.stats.estimate import DEFAULT_START_SD
from opbench.workers.session import SessionEnded

#: Above this share of disturbed blocks the number says more about the machine than about the case.
CONTENDED_SHARE = 0.25

#: A case was not warm when the first third of its samples is slower than the last by this much.
DRIFT = 0.05
DRIFT_SAMPLES = 9


def sampled_result(
    member: Member, group: Group, metric: Metric, place: Mapping[str, Any]
) -> Result:
    """The result of a sampled metric for one member of a finished group."""
    if member.ended is not None:
        return failure(member.case, metric, member.ended, place)
    return from_samples(
        member.case, metric, tuple(member.samples()), detail_of(member, group), group.policy, place
    )


def beside_result(member: Member, group: Group, metric: Metric, place: Mapping[str, Any]) -> Result:
    """The same for a metric that was taken beside another one, in the same children."""
    samples = tuple(s for lane in member.all_lanes for s in lane.beside.get(metric.name, ()))
    refused = next(
        (lane.refused[metric.name] for lane in member.all_lanes if metric.name in lane.refused),
        None,
    )
    if member.ended is not None or not samples:
        ended = member.ended or refused or SessionEnded("failed", "no block of it was taken")
        return failure(member.case, metric, ended, place)
    # What starts do to the other metric is not what they do to this one.
    detail = {**detail_of(member, group, metric.name), "layout": DEFAULT_START_SD}
    return from_samples(member.case, metric, samples, detail, group.policy, place)


def from_samples(
    case: Case,
    metric: Metric,
    samples: tuple[Sample, ...],
    detail: dict[str, Any],
    policy: Policy,
    place: Mapping[str, Any],
) -> Result:
    found = estimate_of(samples, float(detail.get("layout") or DEFAULT_START_SD))
    assert found is not None, "a member that did not end has samples"
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
    for code, text in _reservations(result, found.starts, samples, result.detail, policy):
        result = result.with_warning(code, text)
    return result


def _reservations(
    result: Result, starts: int, samples: tuple[Sample, ...], detail: dict, policy: Policy
) -> list[tuple[str, str]]:
    found = []
    share = disturbed_share(samples)
    if share > CONTENDED_SHARE:
        found.append(
            (
                "contended",
                f"{share:.0%} of the blocks were disturbed by other programs; "
                "close them, or measure at a quieter time",
            )
        )
    if (fall := drift(samples)) > DRIFT:
        found.append(
            (
                "unsettled",
                f"the time per call still fell by {fall:.0%} while it was sampled; "
                "raise --max-time-per-case to give it a longer warm-up",
            )
        )
    wide = result.half_width
    if isinstance(policy, Adaptive) and wide is not None and wide > policy.precision:
        found.append(
            (
                "imprecise",
                f"±{wide:.1%} where ±{policy.precision:.1%} was asked: {why_wide(detail)}",
            )
        )
    if len(samples) == 1:
        found.append(("one-sample", f"one sample says nothing about its own noise; {more(policy)}"))
    elif starts < 3:
        why = "as one call takes long" if isinstance(policy, Adaptive) else "as asked"
        found.append(
            (
                "few-starts",
                f"rests on {starts} worker start{'s' * (starts > 1)}, {why}; "
                "the interval is widened for what address layout does between starts",
            )
        )
    return found


def more(policy: Policy) -> str:
    """How to get more samples."""
    return f"raise {'--max-time-per-case' if isinstance(policy, Adaptive) else '--num-runs'}"


def why_wide(detail: Mapping[str, Any]) -> str:
    """What kept an interval from narrowing, and what to do about it."""
    if detail.get("stopped") == "starts":
        return (
            f"worker starts of identical code differ by {detail['between']:.1%} here, which no "
            "longer sampling mends; compare side by side (--baseline, opbench ab), or raise "
            "--max-starts"
        )
    return (
        "the time for this case was spent; raise --max-time-per-case, or quiet the machine "
        "(opbench doctor)"
    )


def drift(samples: Sequence[Sample]) -> float:
    """How much the samples of a typical session fell from their first third to their last."""
    sessions: dict[tuple[int, int], list[float]] = {}
    for sample in samples:
        sessions.setdefault((sample.start, sample.session), []).append(sample.value)
    falls = []
    for values in sessions.values():
        third = len(values) // 3
        if len(values) >= DRIFT_SAMPLES and (last := median(values[-third:])) > 0:
            falls.append(median(values[:third]) / last - 1)
    return median(falls) if falls else 0.0


def exact_results(
    case: Case, answer: dict[str, Any], described: Metric, place: Mapping[str, Any]
) -> list[Result]:
    """Results of a metric that is measured at once; one measurement may yield several."""
    results = []
    for name, found in answer["results"].items():
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


def unsupported(case: Case, metric: Metric, reason: str, place: Mapping[str, Any]) -> Result:
    return failure(case, metric, SessionEnded("unsupported", reason), place)
