"""Two sets of results against each other: a ratio, an interval and a verdict per case.

A pure function of stored results. Cases are matched by id and metric, each pair is divided by
`stats.pair`, and the verdicts of one metric are given together. What prevents a verdict stands in
the row; nothing here raises for bad data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from opbench.analyse.matching import MatchedPair, match
from opbench.case import Case
from opbench.result import Result
from opbench.stats.mean import geometric_mean
from opbench.stats.nodes import over_nodes
from opbench.stats.pair import Pair, compare_results
from opbench.stats.ratio import Ratio
from opbench.stats.verdict import FALSE_DISCOVERY, MARGIN, Question, verdicts
from opbench.store.records import StoredResult

#: Verdicts in the order they are reported in.
REPORTED = ("slower", "faster", "same", "unknown")

#: What the verdicts are called where "slower" would be odd.
WORDS = {
    "bytes": {"slower": "larger", "faster": "smaller"},
    "instructions": {"slower": "more", "faster": "fewer"},
    "count": {"slower": "more", "faster": "fewer"},
}


def verdict_word(verdict: str, unit: str) -> str:
    return WORDS.get(unit, {}).get(verdict, verdict)


@dataclass(frozen=True)
class ComparisonRow:
    """One case and metric on both sides."""

    case_id: str
    metric: str
    unit: str
    base: Result | None
    new: Result | None
    #: new / base, and its 95 % interval; None where there is nothing to divide.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    #: Of values that repeat: what differs by less is the same.
    spread: float | None = None
    design: str = ""
    verdict: str = "unknown"
    reason: str = ""
    #: The source of the case differs between the sides: the difference may be the benchmark's own.
    edited: bool = False
    #: Of a fleet: how many nodes measured both sides, and how much they differ, in words.
    nodes: int = 0
    note: str = ""
    #: Of sampled values: the ratio with its errors, and the family of questions it belongs to.
    ratio: Ratio | None = None
    cases: int = 1
    rate: float = FALSE_DISCOVERY

    @cached_property
    def detectable(self) -> float | None:
        """The smallest slowdown that these data can show, in a suite of so many cases."""
        if self.ratio is None:
            return self.spread
        return self.ratio.detectable(self.cases, self.rate)

    @property
    def word(self) -> str:
        """The verdict as it is shown: `larger` of bytes."""
        return verdict_word(self.verdict, self.unit)

    @property
    def measured(self) -> bool:
        """Whether both sides have a value; what cannot be decided by them is measured too."""
        return self.value is not None or self.verdict != "unknown"


@dataclass(frozen=True)
class Mean:
    """Geometric mean of the ratios of one metric, with its interval over the cases."""

    metric: str
    value: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True)
class Comparison:
    base: str
    new: str
    rows: tuple[ComparisonRow, ...]
    means: tuple[Mean, ...] = ()
    #: Ids of cases that only one side has, and `id (metric)` where only a metric is missing.
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    def of(self, verdict: str) -> list[ComparisonRow]:
        return [row for row in self.rows if row.verdict == verdict]

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(row.metric for row in self.rows))

    def counts_of(self, metric: str) -> dict[str, int]:
        """How many rows of a metric have each verdict, what needs action first."""
        given = [row.verdict for row in self.rows if row.metric == metric]
        return {verdict: given.count(verdict) for verdict in REPORTED if verdict in given}


def compare(
    base: Sequence[StoredResult],
    new: Sequence[StoredResult],
    *,
    names: tuple[str, str] = ("base", "new"),
    margin: float = MARGIN,
    rate: float = FALSE_DISCOVERY,
    rows: Sequence[str] = (),
    without: str = "",
) -> Comparison:
    """Every case that both sides have, by metric and by id (less the compared key `without`);
    `rows` are the keys that name a row."""
    matched = match(base, new, rows, without)
    comparison = compare_pairs(matched.pairs, names=names, margin=margin, rate=rate)
    return replace(comparison, only_base=matched.only_base, only_new=matched.only_new)


def compare_pairs(
    pairs: Iterable[MatchedPair],
    *,
    names: tuple[str, str],
    margin: float = MARGIN,
    rate: float = FALSE_DISCOVERY,
) -> Comparison:
    """For callers that match the sides themselves; a key is (row title, metric)."""
    rows: list[ComparisonRow] = []
    questions: list[tuple[int, Question]] = []
    for (title, metric), sides in _by_row(pairs):
        row, question = _row(title, metric, sides)
        if question is not None:
            questions.append((len(rows), question))
        rows.append(row)
    # One family of questions per metric: a suite of memory results is not a suite of times.
    for metric in {row.metric for row in rows}:
        asked = [(index, q) for index, q in questions if rows[index].metric == metric]
        given = verdicts([q for _, q in asked], rate=rate, margin=margin)
        count = sum(not q.obstacle for _, q in asked)
        for (index, _), verdict in zip(asked, given, strict=True):
            rows[index] = replace(
                rows[index],
                verdict=verdict.verdict,
                reason=verdict.reason,
                cases=max(1, count),
                rate=rate,
            )
    return Comparison(*names, tuple(rows), tuple(_means(rows)))


Sides = list[tuple[StoredResult, StoredResult]]


def _by_row(pairs: Iterable[MatchedPair]) -> Iterable[tuple[tuple[str, str], Sides]]:
    """Pairs of one row that differ in their node belong together; others stand alone."""
    joined: list[tuple[tuple[str, str], Sides]] = []
    of_node: dict[tuple[str, str], Sides] = {}
    for key, base, new in pairs:
        node = base.result.node if base.result.node == new.result.node else ""
        sides = of_node.get(key)
        if node and sides and all(node != before.result.node for before, _ in sides):
            sides.append((base, new))
            continue
        sides = [(base, new)]
        joined.append((key, sides))
        if node:
            of_node[key] = sides
    return joined


def _row(title: str, metric: str, sides: Sides) -> tuple[ComparisonRow, Question | None]:
    """Of several nodes: the difference they have in common, and how much is the machine's."""
    pairs = [
        compare_results(base.result, new.result, same_run=base.run_id == new.run_id)
        for base, new in sides
    ]
    # Counts are the same everywhere or differ by the machine's libraries: any of them will do.
    chosen = next((i for i, pair in enumerate(pairs) if pair.value is not None), 0)
    pair, (base, new) = pairs[chosen], sides[chosen]
    joint = over_nodes([pair.ratio for pair in pairs if pair.ratio is not None])
    nodes, note = 0, ""
    if joint is not None and joint.nodes > 1:
        pair, nodes = Pair.of(joint.ratio), joint.nodes
        note = f"{nodes} nodes, which differ by {joint.between:.1%} beyond their own noise"
        if missing := len(sides) - nodes:
            note += f"; {missing} without a value"
    row = ComparisonRow(
        title,
        metric,
        new.result.unit,
        base.result,
        new.result,
        value=pair.value,
        low=pair.low,
        high=pair.high,
        spread=pair.spread,
        design=pair.design,
        verdict=pair.verdict,
        reason=pair.reason,
        edited=base.case.id == new.case.id and _source(base.case) != _source(new.case),
        nodes=nodes,
        note=note,
        ratio=pair.ratio,
    )
    return row, pair.question


def _source(case: Case) -> Case:
    """The benchmark itself. What a user's file and its imports contain is left out: a change there
    is what people compare commits for."""
    return replace(case, module=None, preload=())


def _means(rows: Sequence[ComparisonRow]) -> Iterable[Mean]:
    for metric in dict.fromkeys(row.metric for row in rows):
        ratios = [_ratio(row) for row in rows if row.metric == metric and row.value]
        if ratios:
            yield Mean(metric, *geometric_mean(ratios), len(ratios))


def _ratio(row: ComparisonRow) -> Ratio:
    """Values that repeat have an interval and no ratio of samples."""
    if row.ratio is not None:
        return row.ratio
    value, low, high = row.value or math.nan, row.low, row.high
    error = (math.log(high) - math.log(low)) / 2 / 1.96 if low and high else math.inf
    return Ratio(value, low or 0.0, high or math.inf, 0, row.design, error, math.inf)
