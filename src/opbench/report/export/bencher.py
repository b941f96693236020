"""Bencher Metric Format: for `bencher run --adapter json --file`.

Times go to Bencher's own measure `latency`, in nanoseconds; other metrics to measures of their own
names. The 95 % interval is the lower and upper value.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import TextIO

from opbench.report.naming import names_by_metric
from opbench.store.records import RunRecord, StoredResult

NANOSECONDS = 1e9
HOLDS = "only results with a value"
#: Bencher refuses longer names.
LONGEST = 1024


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    good = [
        s
        for s in results
        if s.result.ok and s.result.estimate is not None and math.isfinite(s.result.estimate)
    ]
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for stored, name in zip(good, names_by_metric(good)):
        result = stored.result
        scale = NANOSECONDS if result.unit == "s" else 1.0
        metric = {"value": (result.estimate or 0.0) * scale}
        if result.low is not None and result.high is not None:
            metric |= {"lower_value": result.low * scale, "upper_value": result.high * scale}
        measure = "latency" if result.metric == "time" else result.metric.replace("_", "-")
        benchmarks.setdefault(_cut(name), {})[measure] = metric
    json.dump(benchmarks, stream, ensure_ascii=True, indent=1)
    stream.write("\n")
    return good


def _cut(name: str) -> str:
    """What is cut off still tells two names apart."""
    if len(name) <= LONGEST:
        return name
    return (
        f"{name[: LONGEST - 21]} {hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:20]}"
    )
