"""Every chart of a page, by the name of its file, and writing them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.define import suites
from opbench.report.charts.factors import factors
from opbench.report.charts.frameworks import frameworks, pairs
from opbench.report.charts.history import history
from opbench.report.charts.ratios import ratios
from opbench.report.charts.scaling import scaling
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from opbench.report.page.contents import Contents

#: Benchmarks and histories drawn one by one: more files than that, nobody looks through.
BENCHMARKS = 100
HISTORIES = 20


def every(contents: Contents) -> dict[str, Any]:
    """Altair charts by name; only those that have something to show."""
    found: dict[str, Any] = {}
    for comparison in contents.comparisons:
        for metric in dict.fromkeys(row.metric for row in comparison.rows):
            name = f"ratios_{metric}_{comparison.base}_{comparison.new}"
            found[name] = ratios(comparison, metric)
    found |= _factors(contents)
    found |= _scaling(contents.results)
    for metric in dict.fromkeys(stored.result.metric for stored in contents.results):
        for one, other in pairs(contents.results, metric):
            name = f"frameworks_{metric}_{one}_{other}"
            found[name] = frameworks(contents.results, (one, other), metric)
    found |= suites.merged(lambda suite: suite.charts(contents))
    found |= _histories(contents)
    return {file_name(name): chart for name, chart in found.items() if chart is not None}


def save(contents: Contents, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write every chart in every format; the folder is made when it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in every(contents).items():
        for kind in formats:
            path = folder / f"{name}.{kind}"
            # Twice the pixels: charts are shown on dense screens and in print.
            chart.save(str(path), **({"scale_factor": 2.0} if kind == "png" else {}))
            written.append(path)
    return written


def file_name(name: str) -> str:
    """Of what a chart is called: names of runs and benchmarks may hold anything."""
    return re.sub(r"[^A-Za-z0-9._=-]+", "_", name).strip("_.")[:120] or "chart"


def _factors(contents: Contents) -> dict[str, Any]:
    axis = str(contents.run.request.get("baseline") or "").partition("=")[0]
    along = [c for c in contents.comparisons if axis and c.base.startswith(f"{axis}=")]
    found: dict[str, Any] = {}
    for metric in dict.fromkeys(row.metric for c in along for row in c.rows):
        found[f"factors_{metric}"] = factors(along, metric)
    return found


def _scaling(results: Sequence[StoredResult]) -> dict[str, Any]:
    by_name: dict[tuple[str, str, str], list[StoredResult]] = {}
    for stored in results:
        key = (stored.result.metric, stored.case.suite, stored.case.name)
        by_name.setdefault(key, []).append(stored)
    found: dict[str, Any] = {}
    for (metric, suite, name), members in by_name.items():
        if len(found) >= BENCHMARKS:
            break
        chart = scaling(members, metric=metric)
        if chart is not None:
            found[f"axis_{metric}_{suite}_{name}"] = chart
    return found


def _histories(contents: Contents) -> dict[str, Any]:
    """Those with changes first, then the longest."""
    if contents.history is None:
        return {}
    long = sorted(
        (series for series in contents.history if len(series.points) > 2),
        key=lambda series: (-len(series.changes), -len(series.points)),
    )
    machines = len({series.machine for series in long})
    found = {}
    for series in long[:HISTORIES]:
        name = f"history_{series.metric}_{series.case_id}_{series.environment}"
        if machines > 1:  # a case has one history on each
            name += f"_{series.machine}"
        found[name] = history(series)
    return found
