"""A history for programs.

    {"schema": "opbench-history/1", "case", "metric", "unit",
     "series": [{"machine", "hardware", "environment",
                 "points":  [{"run_id", "created", "name", "commit", "dirty", …, "outcome",
                              "estimate", "low", "high"}],
                 "changes": [{"index" (in points), "before", "after" (levels), "ratio",
                              "confidence", "from_run", "to_run",
                              "differences": [{"kind", "name", "before", "after"}]}],
                 "marks":   [{"index", "differences"}]}]}

Moments are seconds since the epoch. A ratio is null where the levels are not both positive, and a
value that is not finite is null.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from opbench.analyse.history import Change, History, Series

SCHEMA = "opbench-history/1"


def as_json(history: History) -> str:
    record = {
        "schema": SCHEMA,
        "case": history.case_id,
        "metric": history.metric,
        "unit": history.unit,
        "series": [_series(series) for series in history.series],
    }
    return json.dumps(_finite(record), ensure_ascii=False, allow_nan=False, indent=1)


def _series(series: Series) -> dict[str, Any]:
    return {
        "machine": series.machine,
        "hardware": series.hardware,
        "environment": series.environment,
        "points": [asdict(point) for point in series.points],
        "changes": [_change(change) for change in series.changes],
        "marks": [
            {"index": index, "differences": [asdict(difference) for difference in differences]}
            for index, differences in series.marks.items()
        ],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "index": change.index,
        "before": change.level.before,
        "after": change.level.after,
        "ratio": change.ratio,
        "confidence": change.level.confidence,
        "from_run": change.before.run_id,
        "to_run": change.after.run_id,
        "differences": [asdict(difference) for difference in change.differences],
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
