"""Two sets of results against each other: a ratio, an interval and a verdict per case.

A pure function of stored results. Cases are matched by id and metric. A sampled metric is compared
with worker starts as the unit; a near-deterministic one (memory, instruction counts) by its values.
Whatever stands in the way of a verdict is said in the row, and nothing here raises for bad data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from opbench.analyse.matching import Pair, match
from opbench.case import Case
from opbench.result import Result, calm
from opbench.stats.contention import disturbed
from opbench.stats.estimate import LAYOUT
from opbench.stats.nodes import over_nodes
from opbench.stats.ratio import DESIGNS, Ratio, exp, ratio
from opbench.stats.verdict import FALSE_DISCOVERY, MARGIN, Question, verdicts
from opbench.store.records import StoredResult

#: A side with more disturbed blocks than this says more about the machine than about the code,
#: unless the other side was measured in the same moments.
DISTURBED = 0.5

#: Near-deterministic metrics: differences up to this are the noise of hash tables and allocators.
TOLERANCE = {"instructions": 0.001, "bytes": 0.0}


@dataclass(frozen=True)
class Row:
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
    #: The smallest slowdown these data would have shown.
    detectable: float | None = None
    design: str = ""
    verdict: str = "unknown"
    reason: str = ""
    #: The source of the case differs between the sides: the difference may be the benchmark's own.
    edited: bool = False
    #: Of a fleet: how many nodes measured both sides, how much the ratio differs from node to node
    #: (a standard deviation), and that in words.
    nodes: int = 0
    between_nodes: float = 0.0
    note: str = ""


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
    rows: tuple[Row, ...]
    means: tuple[Mean, ...] = ()
    #: Ids of cases that only one side has, and `id (metric)` where it lacks but a metric.
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    def of(self, verdict: str) -> list[Row]:
        return [row for row in self.rows if row.verdict == verdict]


def compare(
    base: Sequence[StoredResult],
    new: Sequence[StoredResult],
    *,
    names: tuple[str, str] = ("base", "new"),
    margin: float = MARGIN,
    rate: float = FALSE_DISCOVERY,
) -> Comparison:
    """Every case that both sides have, by id and metric."""
    matched = match(base, new)
    found = compare_pairs(matched.pairs, names=names, margin=margin, rate=rate)
    return replace(found, only_base=matched.only_base, only_new=matched.only_new)


def compare_pairs(
    pairs: Iterable[Pair],
    *,
    names: tuple[str, str],
    margin: float = MARGIN,
    rate: float = FALSE_DISCOVERY,
) -> Comparison:
    """For callers that match the sides themselves; a key is (row title, metric)."""
    rows: list[Row] = []
    questions: list[tuple[int, Question]] = []
    for (title, metric), sides in _by_row(pairs):
        row, question = (
            _row(title, metric, *sides[0]) if len(sides) == 1 else _over_nodes(title, metric, sides)
        )
        if question is not None:
            questions.append((len(rows), question))
        rows.append(row)
    # One family of questions per metric: a suite of memory results is not a suite of times.
    for metric in {row.metric for row in rows}:
        asked = [(index, q) for index, q in questions if rows[index].metric == metric]
        given = verdicts([q for _, q in asked], rate=rate, margin=margin)
        for (index, _), verdict in zip(asked, given, strict=True):
            rows[index] = replace(rows[index], verdict=verdict.verdict, reason=verdict.reason)
    return Comparison(*names, tuple(rows), tuple(_means(rows)))


def _row(
    title: str, metric: str, one: StoredResult, other: StoredResult
) -> tuple[Row, Question | None]:
    base, new = one.result, other.result
    edited = one.case.id == other.case.id and _source(one.case) != _source(other.case)
    row = Row(title, metric, new.unit, base, new, edited=edited)
    obstacle = _obstacle(base, new)
    if obstacle:
        return replace(row, reason=obstacle), None
    if not _is_sampled(base) or not _is_sampled(new):
        return _exact(row, base, new), None
    design = _design(one, other)
    found = ratio(_placed(base), _placed(new), design, _layout(base, new))
    if found is None:
        return replace(row, reason="a time of zero or less has no ratio"), None
    row = replace(
        row,
        value=found.value,
        low=found.low,
        high=found.high,
        detectable=found.detectable,
        design=found.design,
    )
    return row, _question(found, base, new)


Sides = list[tuple[StoredResult, StoredResult]]


def _by_row(pairs: Iterable[Pair]) -> Iterable[tuple[tuple[str, str], Sides]]:
    """Pairs of one row that differ in their node belong together; others stand alone."""
    joined: list[tuple[tuple[str, str], Sides]] = []
    of_node: dict[tuple[str, str], Sides] = {}
    for key, one, other in pairs:
        node = one.result.node if one.result.node == other.result.node else ""
        sides = of_node.get(key)
        if node and sides and all(node != before.result.node for before, _ in sides):
            sides.append((one, other))
            continue
        sides = [(one, other)]
        joined.append((key, sides))
        if node:
            of_node[key] = sides
    return joined


def _over_nodes(title: str, metric: str, sides: Sides) -> tuple[Row, Question | None]:
    """The difference that the nodes have in common, and how much of it is the machine's."""
    rows, ratios = [], []
    for one, other in sides:
        row, _ = _row(title, metric, one, other)
        rows.append(row)
        base, new = one.result, other.result
        if row.value is not None and _is_sampled(base) and _is_sampled(new):
            found = ratio(_placed(base), _placed(new), _design(one, other), _layout(base, new))
            if found is not None:
                ratios.append(found)
    joint = over_nodes(ratios)
    if joint is None or joint.nodes < 2:
        # Counts are the same everywhere or differ by the machine's libraries: any one of them.
        chosen = next((row for row in rows if row.value is not None), rows[0])
        return chosen, None
    found = joint.ratio
    missing = len(sides) - joint.nodes
    note = f"{joint.nodes} nodes, which differ by {joint.between:.1%} beyond their own noise"
    row = replace(
        rows[0],
        value=found.value,
        low=found.low,
        high=found.high,
        detectable=found.detectable,
        design=found.design,
        nodes=joint.nodes,
        between_nodes=joint.between,
        note=note + (f"; {missing} without a value" if missing else ""),
    )
    return row, Question(found.value, found.low, found.high, found.p_value, "")


def _source(case: Case) -> Case:
    """The benchmark itself. What a user's file and its imports contain is left out: a change there
    is what people compare commits for."""
    return replace(case, module=None, preload=())


def _question(found: Ratio, base: Result, new: Result) -> Question:
    obstacle = ""
    if found.design == "separate":
        for side, result in (("base", base), ("new", new)):
            share = disturbed(result.samples)
            if share > DISTURBED:
                obstacle = f"{share:.0%} of the {side} blocks were disturbed by other programs"
    return Question(found.value, found.low, found.high, found.p_value, obstacle)


def _obstacle(base: Result, new: Result) -> str:
    """What keeps two results from being compared at all."""
    for side, result in (("base", base), ("new", new)):
        if not result.ok:
            return f"{side} is {result.outcome_text}"
        if result.estimate is None:
            return f"{side} has no value"
        told = (result.estimate, result.low, result.high, *(s.value for s in result.samples))
        if not all(math.isfinite(value) for value in told if value is not None):
            return f"{side} has values that are not finite"
    if base.unit != new.unit:
        return f"one is in {base.unit}, the other in {new.unit}"
    if _is_sampled(base):
        fewest = min(len(base.samples), len(new.samples))
        if fewest < 2:
            few = "one sample says" if fewest else "a value without samples says"
            return f"{few} nothing about its own noise"
    elif min(base.estimate or 0.0, new.estimate or 0.0) < 0:
        return f"a negative number of {base.unit} is none"
    return ""


def _is_sampled(result: Result) -> bool:
    return result.unit == "s"


def _exact(row: Row, base: Result, new: Result) -> Row:
    """Values that repeat: any difference beyond the metric's own spread is real.

    Zero is a value like any other here (a view allocates nothing), but it has no ratio.
    """
    assert base.estimate is not None
    assert new.estimate is not None
    if base.estimate == new.estimate:
        return replace(row, value=1.0, low=1.0, high=1.0, verdict="same", design="exact")
    if base.estimate <= 0 or new.estimate <= 0:
        words = "slower" if new.estimate > base.estimate else "faster"
        return replace(row, verdict=words, design="exact", reason="one side is zero")
    value = new.estimate / base.estimate
    if not 0 < value < math.inf:
        return replace(row, reason="the values are too far apart for a ratio")
    spread = max((base.half_width or 0.0), (new.half_width or 0.0), TOLERANCE.get(row.unit, 0.0))
    verdict = "same" if abs(math.log(value)) <= spread else "slower" if value > 1 else "faster"
    return replace(
        row,
        value=value,
        low=value * exp(-spread),
        high=value * exp(spread),
        detectable=spread,
        verdict=verdict,
        design="exact",
    )


def _layout(base: Result, new: Result) -> float:
    """What starts scatter on the machine, as the runs themselves have learnt it."""
    return max(float(result.detail.get("layout") or LAYOUT) for result in (base, new))


def _design(one: StoredResult, other: StoredResult) -> str:
    """Blocks of one run and one group were interleaved; everything else was measured apart."""
    group = one.result.group
    together = one.run_id == other.run_id and group and group == other.result.group
    noted = {str(stored.result.detail.get("design")) for stored in (one, other)}
    return noted.pop() if together and len(noted) == 1 and noted <= set(DESIGNS) else "separate"


def _placed(result: Result) -> list[tuple[int, int, float]]:
    return [(sample.start, sample.session, sample.value) for sample in calm(result.samples)]


def _means(rows: Sequence[Row]) -> Iterable[Mean]:
    for metric in dict.fromkeys(row.metric for row in rows):
        of_metric = [row for row in rows if row.metric == metric and row.value]
        logs = [math.log(row.value) for row in of_metric if row.value]
        if not logs:
            continue
        mean = sum(logs) / len(logs)
        # The cases are what they are, not a sample of all cases: only their own errors count.
        variance = sum(_log_error(row) ** 2 for row in of_metric) / len(logs) ** 2
        reach = 1.96 * math.sqrt(variance)
        yield Mean(metric, exp(mean), exp(mean - reach), exp(mean + reach), len(logs))


def _log_error(row: Row) -> float:
    if not row.low or not row.high:
        return math.inf
    return (math.log(row.high) - math.log(row.low)) / 2 / 1.96
