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
from dataclasses import asdict
from typing import Any

from opbench.analyse.history import Change, History, Series
from opbench.store.history import HistoryRow
from opbench.store.quick_json import finite

SCHEMA = "opbench-history/1"


def as_json(history: History) -> str:
    record = {
        "schema": SCHEMA,
        "case": history.case_id,
        "metric": history.metric,
        "unit": history.unit,
        "series": [_series(series) for series in history.series],
    }
    return json.dumps(finite(record), ensure_ascii=False, allow_nan=False, indent=1)


def _series(series: Series) -> dict[str, Any]:
    return {
        "machine": series.machine,
        "hardware": series.hardware,
        "environment": series.environment,
        "points": [point_record(row) for row in series.points],
        "changes": [_change(change) for change in series.changes],
        "marks": [
            {"index": index, "differences": [asdict(difference) for difference in differences]}
            for index, differences in series.notes.items()
        ],
    }


def point_record(row: HistoryRow) -> dict[str, Any]:
    origin, run = row.origin, row.run
    return {
        "run_id": run.id,
        "created": run.created,
        "name": run.name,
        "commit": origin.commit,
        "dirty": origin.dirty,
        "environment": origin.environment,
        "fingerprint": origin.fingerprint,
        "machine": origin.machine,
        "version": run.version,
        "case_hash": row.case_hash,
        "outcome": row.outcome,
        "reason": row.reason,
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "index": change.index,
        "before": change.level.before,
        "after": change.level.after,
        "ratio": change.ratio,
        "confidence": change.level.confidence,
        "from_run": change.before.run.id,
        "to_run": change.after.run.id,
        "differences": [asdict(difference) for difference in change.differences],
    }
