"""The results of a sweep as one CSV file: a summary row per point and config, then its kernels.

The column `row` says which of the two a row is. Times are seconds per call; a summary has them for
each stage apart (`forward_…`, `backward_…`), a kernel for the stage it ran in. The environment
is in lines that begin with `#`: `pandas.read_csv(path, comment="#")`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev, quantiles
from typing import Any, TextIO

from opbench.case import Case, Label, label_text
from opbench.result import Result
from opbench.stats.contention import undisturbed

#: The name of the axis is the name of the column.
CONFIG = ("dtype", "runtime")
STATISTICS = ("median", "low", "high", "mean", "std", "min", "p10", "p90", "max", "samples")
KERNEL = ("stage", "kernel", "kernel_device", "calls", "total", "mean")


@dataclass
class Point:
    """One point of a sweep on one config: what was measured of each stage."""

    model: str
    device: str
    threads: int
    labels: tuple[tuple[str, Label], ...]
    #: By stage, then by metric.
    stages: dict[str, dict[str, Result]] = field(default_factory=dict)

    @property
    def dims(self) -> dict[str, Label]:
        return {name: value for name, value in self.labels if name not in CONFIG}

    @property
    def config(self) -> str:
        labels = dict(self.labels)
        return f"{labels.get('runtime')} {labels.get('dtype')}"

    def time(self, stage: str) -> Result | None:
        """The time of a stage; on a GPU, what the caller waits."""
        metrics = self.stages.get(stage, {})
        return next((r for name, r in metrics.items() if r.unit == "s" and name != "kernels"), None)


def points(results: Iterable[tuple[Case, Result]]) -> list[Point]:
    by_key: dict[tuple[Any, ...], Point] = {}
    for case, result in results:
        if case.suite != "sweep":
            continue
        key = (case.name, case.device, case.threads, case.labels, result.environment)
        point = by_key.setdefault(key, Point(case.name, case.device, case.threads, case.labels))
        point.stages.setdefault(case.stage, {})[result.metric] = result
    return list(by_key.values())


def write(
    results: Iterable[tuple[Case, Result]], stream: TextIO, environment: Iterable[str] = ()
) -> int:
    """Write the file, and return the number of its summary rows."""
    measured = points(results)
    stream.writelines(f"# {' '.join(line.split())}\n" for line in environment)
    stages = list(dict.fromkeys(stage for point in measured for stage in point.stages))
    dims = list(dict.fromkeys(name for point in measured for name in point.dims))
    columns = ["row", "model", *dims, *CONFIG, "device", "threads"]
    columns += [f"{stage}_{name}" for stage in stages for name in ("outcome", *STATISTICS)]
    columns += KERNEL
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for point in measured:
        writer.writerows(rows(point))
    return len(measured)


def rows(point: Point) -> Iterator[dict[str, Any]]:
    place = {
        "model": point.model,
        "device": point.device,
        "threads": point.threads,
        **{name: label_text(value) for name, value in point.labels},
    }
    summary: dict[str, Any] = {"row": "summary", **place}
    for stage in point.stages:
        result = point.time(stage)
        if result is not None:
            summary[f"{stage}_outcome"] = result.outcome_text
            for name, value in statistics(result).items():
                summary[f"{stage}_{name}"] = _number(value)
    yield summary
    for stage, measured in point.stages.items():
        profile = measured.get("kernels")
        for kernel in profile.detail.get("kernels", ()) if profile is not None else ():
            yield {
                "row": "kernel",
                **place,
                "stage": stage,
                "kernel": kernel["name"],
                "kernel_device": kernel["device"],
                **{name: _number(kernel[name]) for name in ("calls", "total", "mean")},
            }


def statistics(result: Result) -> dict[str, float]:
    """Of the samples, each a block of calls reduced to one call; disturbed ones are left out."""
    (kept,) = undisturbed(result.samples)
    values: Sequence[float] = [sample.value for sample in kept]
    if not result.ok or not values or result.estimate is None:
        return {}
    tenths = quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
    return {
        # The estimate weighs worker starts alike: it is the median that the interval belongs to.
        "median": result.estimate,
        "low": result.low if result.low is not None else min(values),
        "high": result.high if result.high is not None else max(values),
        "mean": fmean(values),
        "std": pstdev(values),
        "min": min(values),
        "p10": tenths[0],
        "p90": tenths[-1],
        "max": max(values),
        "samples": len(values),
    }


def _number(value: float) -> str:
    return f"{value:.8g}"
