"""What a run compares within itself: its environments, or the values of the axis of its baseline.

`opbench ab` and `--baseline` measure sides turn by turn in one run; the verdicts on them belong to
the run, and its table shows them without being asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opbench.analyse.compare import Comparison, compare_pairs
from opbench.analyse.matching import MatchedPair, match
from opbench.analyse.projection import columns, keys_of, title
from opbench.case import Case
from opbench.plan.groups import NAME, Baseline
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.stats.ratio import Ratio
from opbench.stats.verdict import MARGIN
from opbench.store.records import RunRecord, StoredResult

Pairs = list[tuple[Case, Result]]


def comparisons_within(
    baseline: Baseline | None, results: Sequence[StoredResult]
) -> list[Comparison]:
    """One per further value of the compared key: `current → torch-2.12`, `baseline → hooks`."""
    return comparisons_along(results, *_compared_key(baseline, results))


def comparisons_along(
    results: Sequence[StoredResult], key: str, bases: Sequence[str], margin: float = MARGIN
) -> list[Comparison]:
    """The other values of a key, each against the base, or the first where there is no such.

    There are several bases where groups of benchmarks are compared by their names."""
    values = columns(results, key) if key else {}
    known = [base for base in bases if base in values] or list(values)[:1]
    return [
        compare_pairs(pairs, names=(f"{key}={base}", f"{key}={value}"), margin=margin)
        for base in known
        for value, pairs in _along(values, key, base)
    ]


def factors(
    results: Sequence[tuple[Case, Result]], baseline: Baseline
) -> list[tuple[Result, Ratio]]:
    """How many times its baseline, for each other sampled result of one run that has one."""
    if not baseline.among(case for case, _ in results):
        return []
    values = columns([StoredResult("", *each) for each in results], baseline.axis)
    return [
        (new.result, ratio)
        for base in baseline.values
        if base in values
        for _, pairs in _along(values, baseline.axis, base)
        for _, old, new in pairs
        if (ratio := compare_results(old.result, new.result).ratio) is not None
    ]


def by_base(
    results: Sequence[tuple[Case, Result]], baseline: Baseline
) -> tuple[dict[str, Pairs], Pairs]:
    """Results by the value that they are compared with, and those that are compared with none."""
    sets: dict[str, Pairs] = {}
    for case, result in results:
        stored = StoredResult("", case, result)
        sets.setdefault(title(stored, without=baseline.axis), []).append((case, result))
    found: dict[str, Pairs] = {}
    rest: Pairs = []
    for members in sets.values():
        bases = [baseline.value_of(case) for case, _ in members if baseline.holds(case)]
        several = len({baseline.value_of(case) for case, _ in members}) > 1
        if bases and (several or baseline.axis != NAME):
            found.setdefault(str(bases[0]), []).extend(members)
        else:
            rest += members
    return found, rest


def _along(
    values: dict[str, list[StoredResult]], key: str, base: str
) -> Iterator[tuple[str, tuple[MatchedPair, ...]]]:
    """For each other value of the key: what it shares with the base."""
    for value, results in values.items():
        if value != base and (pairs := match(values[base], results, (), key).pairs):
            yield value, pairs


def baseline_of(run: RunRecord) -> Baseline | None:
    text = str(run.request.get("baseline") or "")
    return Baseline.parse(text) if "=" in text else None


def _compared_key(
    baseline: Baseline | None, results: Sequence[StoredResult]
) -> tuple[str, tuple[str, ...]]:
    if baseline is not None and baseline.axis in keys_of(results):
        return baseline.axis, baseline.values
    if len({stored.result.environment for stored in results}) > 1:
        return "environment", ()
    return "", ()
