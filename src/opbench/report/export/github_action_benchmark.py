"""JSON of github-action-benchmark, for its tool `customSmallerIsBetter`.

One entry per result with a value. The value keeps one unit per metric (nanoseconds, bytes), so
that the action's chart of a benchmark never changes its scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TextIO

from opbench.errors import plural
from opbench.report.naming import names
from opbench.store.records import RunRecord, StoredResult

NANOSECONDS = 1e9
HOLDS = "only results with a value"


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    good = [s for s in results if s.result.ok and math.isfinite(_estimate(s))]
    entries = [_entry(stored, name) for stored, name in zip(good, names(good))]
    json.dump(entries, stream, ensure_ascii=True, indent=1)
    stream.write("\n")
    return good


def _estimate(stored: StoredResult) -> float:
    value = stored.result.estimate
    return math.nan if value is None else value


def _entry(stored: StoredResult, name: str) -> dict[str, Any]:
    result = stored.result
    times = result.unit == "s"
    scale = NANOSECONDS if times else 1.0
    entry: dict[str, Any] = {
        "name": name,
        "unit": "ns" if times else result.unit,
        "value": _estimate(stored) * scale,
    }
    if result.low is not None and result.high is not None and result.high > result.low:
        entry["range"] = f"± {(result.high - result.low) / 2 * scale:.4g}"
    extra = [
        f"run {stored.run_id}",
        plural(stored.n_samples or len(result.samples), "sample"),
        *(f"{warning.code}: {warning.text}" for warning in result.warnings),
    ]
    entry["extra"] = "\n".join(extra)
    return entry
