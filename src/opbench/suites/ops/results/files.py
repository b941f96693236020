"""Results of operators for programs: CSV, and JSON as a dict keyed by operator and inputs."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from opbench.suites.ops.fusion import gains
from opbench.suites.ops.results.rows import OperatorRow

COLUMNS = (
    "operator", "category", "framework", "size", "dtype", "stage", "device", "threads", "form",
    "scaled", "inputs", "metric", "unit", "outcome", "reason", "estimate", "low", "high",
)  # fmt: skip
STATISTICS = ("p50", "p90", "p99", "mean", "n")


def record(row: OperatorRow) -> dict[str, Any]:
    """Plain values: times in seconds, sizes in bytes; None where nothing was measured."""
    spread = asdict(row.quantiles) if row.quantiles else dict.fromkeys(STATISTICS)
    return {
        **{name: getattr(row, name) for name in COLUMNS},
        **spread,
        "flops": row.flops or None,
        "bytes": row.bytes or None,
        "case": row.case_hash,
        "run": row.run,
    }


def as_dict(rows: Sequence[OperatorRow]) -> dict[str, dict[str, Any]]:
    """By operator and inputs: `add[framework=torch,size=typical,…]/forward`, so that nothing
    overwrites anything."""
    return {key(row): record(row) for row in rows}


def key(row: OperatorRow) -> str:
    labels = {
        "framework": row.framework,
        "device": row.device,
        "threads": row.threads,
        "size": row.size,
        "dtype": row.dtype,
        "form": row.form,
        "scaled": row.scaled,
        "inputs": row.inputs,
    }
    text = ",".join(f"{name}={value}" for name, value in labels.items() if value != "")
    run = f"@{row.run}" if row.run else ""
    return f"{row.operator}[{text}]/{row.stage}/{row.metric}{run}"


def to_csv(rows: Sequence[OperatorRow], stream: TextIO) -> None:
    columns = (*COLUMNS, *STATISTICS, "flops", "bytes", "case", "run")
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = record(row)
        writer.writerow({name: "" if values[name] is None else values[name] for name in columns})


def to_json(rows: Sequence[OperatorRow], stream: TextIO, environment: Sequence[str] = ()) -> None:
    fusion = [
        {
            "operator": gain.fused.operator,
            "framework": gain.fused.framework,
            "size": gain.fused.size,
            "dtype": gain.fused.dtype,
            "stage": gain.fused.stage,
            "how": gain.how,
            "fused": gain.fused.estimate,
            "parts": {part.form: part.estimate for part in gain.parts},
            "gain": gain.value,
            "low": gain.low,
            "high": gain.high,
        }
        for gain in gains(rows)
    ]
    content = {"environment": list(environment), "operators": as_dict(rows), "fusion": fusion}
    json.dump(content, stream, indent=1, allow_nan=False)
    stream.write("\n")
