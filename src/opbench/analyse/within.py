"""What a run compares within itself: the two sides of `opbench ab`, the values of the axis of its
baseline, or its environments.

`opbench ab` and `--baseline` measure sides turn by turn in one run; the verdicts on them belong to
the run, and its table, its page and `opbench compare RUN` show them without being asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from opbench.analyse.compare import Comparison, compare_pairs
from opbench.analyse.matching import MatchedPair, match
from opbench.analyse.projection import columns, keys_of, title
from opbench.analyse.sides import labels_of
from opbench.case import Case
from opbench.plan.groups import NAME, Baseline
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.stats.ratio import Ratio
from opbench.stats.verdict import MARGIN
from opbench.store.records import RunRecord, StoredResult

Pairs = list[tuple[Case, Result]]

ENVIRONMENT = "environment"


def comparisons_of(run: RunRecord, results: Sequence[StoredResult]) -> list[Comparison]:
    """What a stored run compares: `HEAD~1 → HEAD`, `current → torch-2.12`, `mode=plain → …`."""
    key, bases = compared_key(run, results)
    return comparisons_along(results, key, bases, labels=labels_of(run))


def comparisons_within(
    baseline: Baseline | None, results: Sequence[StoredResult]
) -> list[Comparison]:
    """The same of a run at hand: one per further value of the compared key."""
    return comparisons_along(results, *_compared_key(baseline, results))


def comparisons_along(
    results: Sequence[StoredResult],
    key: str,
    bases: Sequence[str],
    margin: float = MARGIN,
    labels: Mapping[str, str] | None = None,
) -> list[Comparison]:
    """The other values of a key, each against the bases. `labels` name environments."""
    values = columns(results, key) if key else {}

    def name(value: str) -> str:
        """An environment is known by its name, the value of an axis by both."""
        return (labels or {}).get(value, value) if key == ENVIRONMENT else f"{key}={value}"

    return [
        compare_pairs(pairs, names=(name(base), name(value)), margin=margin)
        for base in bases_among(values, bases)
        for value, pairs in _along(values, key, base)
    ]


def bases_among(values: Iterable[str], bases: Sequence[str]) -> list[str]:
    """The bases that were measured, or what was measured first where there are none.

    There are several where groups of benchmarks are compared by their names."""
    values = list(values)
    return [base for base in bases if base in values] or values[:1]


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
    """None for `opbench ab`: it compares its sides, whatever its benchmarks suggest."""
    text = "" if "commits" in run.request else str(run.request.get("baseline") or "")
    return Baseline.parse(text) if "=" in text else None


def compared_key(run: RunRecord, results: Sequence[StoredResult]) -> tuple[str, tuple[str, ...]]:
    """The key whose values a run compares, and the bases among them; empty where there is none."""
    key, bases = _compared_key(baseline_of(run), results)
    return key, tuple(labels_of(run))[:1] if key == ENVIRONMENT else bases


def _compared_key(
    baseline: Baseline | None, results: Sequence[StoredResult]
) -> tuple[str, tuple[str, ...]]:
    if baseline is not None and baseline.axis in keys_of(results):
        return baseline.axis, baseline.values
    if len({stored.result.environment for stored in results}) > 1:
        return ENVIRONMENT, ()
    return "", ()
