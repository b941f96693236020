"""Which result of one side belongs to which of the other.

Two results are of the same thing when all but the compared key is equal: suite, name, axes and
stage. The environment counts as well where both sides were measured in one and the same; sides
that have none in common are compared across their environments. Where both sides were measured on
several nodes of a fleet, each node is compared with itself; such pairs share a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opbench.analyse.projection import keys_of, title, value_of
from opbench.plan.metrics import metrics
from opbench.store.records import StoredResult

#: What is matched: the thing itself, its environment, the metric, the node (or nothing).
Key = tuple[str, str, str, str]

#: Title of the row and metric, then the result of each side.
MatchedPair = tuple[tuple[str, str], StoredResult, StoredResult]


@dataclass(frozen=True)
class Matched:
    pairs: tuple[MatchedPair, ...]
    #: What only one side has: a case, or a metric of a case that both have.
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()


def match(
    base: Sequence[StoredResult],
    new: Sequence[StoredResult],
    rows: Sequence[str] = (),
    without: str = "",
) -> Matched:
    """The later of two results of one thing on one side counts."""
    base, new = _compared(base), _compared(new)
    across = without == "environment" or not _environments(base) & _environments(new)
    nodes = without != "node" and _replicated(base) and _replicated(new)
    ours, theirs = (
        {_key(stored, without, across, nodes): stored for stored in side} for side in (base, new)
    )
    shared = [key for key in ours if key in theirs]
    several = len({environment for _, environment, _, _ in shared}) > 1
    pairs = []
    for key in shared:
        name = title(theirs[key], rows, without)
        if several and "environment" not in rows:
            name += f" in {key[1]}"
        pairs.append(((name, key[2]), ours[key], theirs[key]))
    return Matched(tuple(_distinct(pairs, without)), _only(ours, theirs), _only(theirs, ours))


def _compared(results: Sequence[StoredResult]) -> list[StoredResult]:
    """Without metrics that would count a change a second time: raw instructions."""
    measured = {stored.result.metric for stored in results}
    left_out = {
        name
        for metric in metrics().values()
        if metric.name in measured
        for name in metric.uncompared
    }
    return [stored for stored in results if stored.result.metric not in left_out]


def _environments(results: Iterable[StoredResult]) -> set[str]:
    return {stored.result.environment for stored in results}


def _replicated(results: Iterable[StoredResult]) -> bool:
    """Whether anything was measured on more than one node of a fleet."""
    nodes: dict[tuple[str, str, str], str] = {}
    for stored in results:
        result = stored.result
        thing = (result.case_hash, result.environment, result.metric)
        if result.node and nodes.setdefault(thing, result.node) != result.node:
            return True
    return False


def _key(stored: StoredResult, without: str, across: bool, nodes: bool) -> Key:
    environment = "" if across else stored.result.environment
    node = stored.result.node if nodes else ""
    return title(stored, (), without), environment, stored.result.metric, node


def _distinct(pairs: Sequence[MatchedPair], without: str) -> Iterable[MatchedPair]:
    """Rows of one title get the keys in which they differ: no two rows have the same title."""
    same: dict[tuple[str, str], list[StoredResult]] = {}
    for row, _, stored in pairs:
        same.setdefault(row, []).append(stored)
    for row, base, new in pairs:
        group = same[row]
        keys = [k for k in keys_of(group) if k not in (without, "id", "run", "metric", "node")]
        differing = [key for key in keys if len({value_of(stored, key) for stored in group}) > 1]
        more = "".join(f" {key}={value_of(new, key) or ''}" for key in differing)
        yield (row[0] + more, row[1]), base, new


def _only(here: Iterable[Key], there: Iterable[Key]) -> tuple[str, ...]:
    other = set(there)
    things = {key[:2] for key in other}
    metrics = {key[:3] for key in other}
    missing = []
    for thing, environment, metric, _ in here:
        if (thing, environment, metric) not in metrics:
            missing.append(f"{thing} ({metric})" if (thing, environment) in things else thing)
    return tuple(dict.fromkeys(missing))
