"""CSV: one row per result, plain numbers in base units, for spreadsheets and scripts.

Times are seconds, sizes bytes; `half_width` is relative (0.02 is ±2 %); `created` is UTC. An empty
field means no value, `none` that the value of a label is None.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, TextIO

from opbench.case import label_text
from opbench.report import rows
from opbench.report.units import format_time
from opbench.store.records import RunRecord, StoredResult


def write(results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO) -> None:
    columns = rows.columns(results)
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows.rows(results, runs):
        writer.writerow({column: _text(column, value) for column, value in row.items()})


def _text(column: str, value: Any) -> str:
    if column.startswith("label."):
        return label_text(value)
    if column == "created":
        return format_time(value, "%Y-%m-%dT%H:%M:%SZ")
    return "" if value is None else str(value)
