"""The rows of the page: one per case and environment, each metric a set of columns.

Columns rather than records: a hundred thousand rows are then a few megabytes, and a browser parses
them in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import Case
from opbench.report.page.packing import Words, number
from opbench.result import Result
from opbench.store.records import StoredResult

#: Properties of a case that the page filters by.
FACETS = ("suite", "name", "stage", "framework", "runtime", "device", "dtype")

#: (case hash, environment)
Place = tuple[str, str]


@dataclass
class Row:
    case: Case
    environment: str
    results: dict[str, StoredResult] = field(default_factory=dict)


def rows_of(results: Sequence[StoredResult]) -> dict[Place, Row]:
    """In order of arrival; of two results of one metric the later counts."""
    found: dict[Place, Row] = {}
    for stored in results:
        place = place_of(stored.result)
        row = found.get(place)
        if row is None:
            row = found[place] = Row(stored.case, stored.result.environment)
        row.results[stored.result.metric] = stored
    return found


def place_of(result: Result) -> Place:
    return result.case_hash, result.environment


def cases_in(rows: Sequence[Row]) -> int:
    """The sides of a comparison measure the same cases, in a row for each."""
    return len({(row.case.id, row.case.device) for row in rows})


def metrics_of(rows: Sequence[Row]) -> dict[str, str]:
    """Unit by metric: times first, then in order of appearance."""
    found: dict[str, str] = {}
    for row in rows:
        for name, stored in row.results.items():
            if name not in found:
                found[name] = stored.result.unit
    return dict(sorted(found.items(), key=lambda item: item[1] != "s"))


def table(rows: Sequence[Row], labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`labels` are what environments are called (`analyse.sides.labels_of`)."""
    labels = labels or {}
    words = {name: Words() for name in (*FACETS, "environment")}
    columns: dict[str, list[int]] = {name: [] for name in words}
    axes: dict[tuple[str, ...], int] = {}
    points: list[list[Any]] = []
    for row in rows:
        for name in FACETS:
            columns[name].append(words[name].index(str(getattr(row.case, name))))
        place = labels.get(row.environment, row.environment)
        columns["environment"].append(words["environment"].index(place))
        names = tuple(axis for axis, _ in row.case.labels)
        kind = axes.setdefault(names, len(axes))
        points.append([kind, *(_label(value) for _, value in row.case.labels)])
    outcomes, reasons, codes = Words(), Words(), Words()
    outcomes.index("ok")
    metrics = metrics_of(rows)
    return {
        "ids": [row.case.id for row in rows],
        "cases": cases_in(rows),
        "words": {name: each.texts for name, each in words.items()},
        "columns": columns,
        "threads": [row.case.threads for row in rows],
        "axes": [list(names) for names in axes],
        "labels": points,
        "metrics": [{"name": name, "unit": unit} for name, unit in metrics.items()],
        "values": [_values(rows, name, outcomes, reasons, codes) for name in metrics],
        "outcomes": outcomes.texts,
        "reasons": reasons.texts,
        "codes": codes.texts,
    }


def _label(value: Any) -> Any:
    return number(value) if isinstance(value, float) else value


def _values(
    rows: Sequence[Row], metric: str, outcomes: Words, reasons: Words, codes: Words
) -> dict[str, Any]:
    """Estimate, interval, outcome (−1 where there is no result) and warnings of one metric."""
    estimate: list[Any] = []
    low: list[Any] = []
    high: list[Any] = []
    outcome: list[int] = []
    samples: list[int] = []
    why: dict[int, int] = {}
    noted: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        stored = row.results.get(metric)
        if stored is None:
            estimate.append(None)
            low.append(None)
            high.append(None)
            outcome.append(-1)
            samples.append(0)
            continue
        result = stored.result
        estimate.append(number(result.estimate))
        low.append(number(result.low))
        high.append(number(result.high))
        outcome.append(outcomes.index(result.outcome))
        samples.append(stored.n_samples or len(result.samples))
        if result.reason:
            why[index] = reasons.index(result.reason)
        if result.warnings:
            noted[index] = [codes.index(warning.code) for warning in result.warnings]
    return {
        "e": estimate,
        "lo": low,
        "hi": high,
        "out": outcome,
        "n": samples,
        "why": why,
        "notes": noted,
    }
