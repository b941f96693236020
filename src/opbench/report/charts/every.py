"""Every chart of a run: those of the page, and the same as files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opbench.analyse.compare import ComparisonRow
from opbench.analyse.sides import labels_of
from opbench.define import suites
from opbench.report.charts import samples
from opbench.report.charts.chart import Chart, Charts, Drawing, save_all, side_by_side
from opbench.report.charts.factors import factors
from opbench.report.charts.frameworks import frameworks, pairs
from opbench.report.charts.history import SPEC as HISTORY
from opbench.report.charts.history import history
from opbench.report.charts.ratios import ORDERS, ratios
from opbench.report.charts.scaling import axes_of, scaling
from opbench.result import Result
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from opbench.report.page.contents import Contents

#: Benchmarks and histories drawn into files: more files than that, nobody looks through.
BENCHMARKS = 100
HISTORIES = 20

#: Specifications of charts whose points the page has in another form.
OTHERS = {"history": HISTORY, "samples": samples.SPEC}


def drawings(contents: Contents) -> Iterator[Drawing]:
    """What the page offers, tab by tab. Histories come apart: the page has them in columns."""
    for comparison in contents.comparisons:
        for metric in _metrics(comparison.rows):
            yield from filter(None, (ratios(comparison, metric, order) for order in ORDERS))
    yield from _factors(contents)
    yield from _scaling(contents.results, labels_of(contents.run))
    for metric in _metrics(stored.result for stored in contents.results):
        for names, shared in pairs(contents.results, metric).items():
            yield frameworks(names, shared, metric)
    yield from suites.together(lambda suite: suite.drawings(contents))


def every(contents: Contents) -> Charts:
    """Charts by name; only those that have something to show."""
    found: dict[str, Chart] = {}
    panels: dict[str, list[Drawing]] = {}
    stages: dict[str, str] = {}
    for drawing in drawings(contents):
        choice = drawing.choice
        if drawing.kind == "ratios" and choice["Order"] == next(iter(ORDERS)):
            found[f"ratios_{choice['Metric']}_{choice['Comparison']}"] = drawing.chart()
        elif drawing.kind == "factors":
            panels.setdefault(choice["Metric"], []).append(drawing)
        elif drawing.kind == "scaling" and len(found) < BENCHMARKS:
            name = f"scaling_{choice['Metric']}_{choice['Benchmark']}"
            first = stages.setdefault(name, choice["Stage"])
            name += f"_{choice['Stage']}" if choice["Stage"] != first else ""
            found.setdefault(name, drawing.chart())
        elif drawing.kind == "frameworks":
            found[f"frameworks_{choice['Metric']}_{choice['Frameworks']}"] = drawing.chart()
        elif drawing.kind not in ("ratios", "scaling"):
            found["_".join([drawing.kind, *choice.values()])] = drawing.chart()
    for metric, members in panels.items():
        charts = [drawing.chart(width=460) for drawing in members]
        title = f"{metric}: factors {members[0].words['{legend}']}"
        found[f"factors_{metric}"] = side_by_side(charts, title)
    found |= suites.merged(lambda suite: suite.charts(contents))
    found |= _histories(contents)
    return Charts((file_name(name), chart) for name, chart in found.items())


def save(contents: Contents, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write every chart in every format; the folder is made when it is missing."""
    return save_all(every(contents), folder, formats)


def file_name(name: str) -> str:
    """Of what a chart is called: names of runs and benchmarks may hold anything."""
    return re.sub(r"[^A-Za-z0-9._=-]+", "_", name).strip("_.")[:120] or "chart"


def _factors(contents: Contents) -> Iterator[Drawing]:
    axis = str(contents.run.request.get("baseline") or "").partition("=")[0]
    along = [c for c in contents.comparisons if axis and c.base.startswith(f"{axis}=")]
    for metric in _metrics(row for c in along for row in c.rows):
        yield from factors(along, metric)


def _scaling(results: Sequence[StoredResult], labels: Mapping[str, str]) -> Iterator[Drawing]:
    by_name: dict[tuple[str, str, str], dict[str, list[StoredResult]]] = {}
    for stored in results:
        case = stored.case
        # Functions of one group are lines of one picture.
        group = case.axes.get("group")
        name = group if isinstance(group, str) else case.name
        of_name = by_name.setdefault((case.suite, name, case.stage), {})
        of_name.setdefault(stored.result.metric, []).append(stored)
    for metrics in by_name.values():
        for metric in _metrics(members[0].result for members in metrics.values()):
            for axis in axes_of(metrics[metric]):
                drawing = scaling(metrics[metric], axis, metric, labels)
                if drawing is not None:
                    yield drawing


def _metrics(measured: Iterable[Result | ComparisonRow]) -> list[str]:
    """Times first, then in order of appearance."""
    units = {each.metric: each.unit for each in measured}
    return sorted(units, key=lambda metric: units[metric] != "s")


def _histories(contents: Contents) -> dict[str, Chart]:
    """Those with changes first, then the longest."""
    if contents.history is None:
        return {}
    long = sorted(
        (series for series in contents.history if len(series.points) > 2),
        key=lambda series: (-len(series.changes), -len(series.points)),
    )
    machines = len({series.machine for series in long})
    charts = {}
    for series in long[:HISTORIES]:
        name = f"history_{series.metric}_{series.case_id}_{series.environment}"
        if machines > 1:  # a case has one history on each
            name += f"_{series.machine}"
        drawing = history(series)
        if drawing is not None:
            charts[name] = drawing.chart()
    return charts
