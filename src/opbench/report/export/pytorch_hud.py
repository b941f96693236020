"""JSON of PyTorch's benchmark database, version 3: what its HUD shows.

A list of records, one per result with a value, for the action `upload-benchmark-results` of
pytorch/test-infra, which adds commit, workflow and runner to each. The HUD rounds down to two
decimals, so times are microseconds, under the name `latency` that PyTorch's operator benchmarks
use. Values of `extra_info` are text, as its table has them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from opbench.case import label_text
from opbench.report.naming import names_by_metric
from opbench.store.records import RunRecord, StoredResult

HOLDS = "only results with a value"
MICROSECONDS = 1e6
#: What of a training step is inference.
MODES = {"forward": "inference", "call": ""}


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    good = [s for s in results if s.result.ok and _is_finite(s.result.estimate)]
    by_id = {run.id: run for run in runs}
    records = [
        _record(stored, name, by_id.get(stored.run_id))
        for stored, name in zip(good, names_by_metric(good))
    ]
    json.dump(records, stream, ensure_ascii=True, indent=1, allow_nan=False)
    stream.write("\n")
    return good


def _record(stored: StoredResult, name: str, run: RunRecord | None) -> dict[str, Any]:
    case, result = stored.case, stored.result
    times = result.unit == "s"
    scale = MICROSECONDS if times else 1.0
    machine = run.machine if run else {}
    return {
        "benchmark": {
            "name": f"opbench {case.suite}",
            "mode": MODES.get(case.stage, "training"),
            "dtype": case.dtype,
            "extra_info": _texts(
                {
                    "device": case.device,
                    "arch": _processor(machine, case.device),
                    "stage": case.stage,
                    "threads": case.threads,
                    "environment": result.environment,
                    "opbench_case": case.hash,
                    "opbench_run": stored.run_id,
                }
            ),
        },
        "model": {
            "name": name,
            "type": case.suite,
            "backend": case.framework if case.runtime == "eager" else case.runtime,
            "origins": ["opbench"],
        },
        "inputs": {
            axis: {"dtype": case.dtype, "extra_info": {"value": label_text(value)}}
            for axis, value in case.labels
        },
        "metric": {
            "name": "latency" if result.metric == "time" else result.metric,
            "benchmark_values": [(result.estimate or 0.0) * scale],
            "extra_info": _texts(
                {
                    "unit": "us" if times else result.unit,
                    "low": _scaled(result.low, scale),
                    "high": _scaled(result.high, scale),
                    "samples": stored.n_samples or len(result.samples),
                    "warnings": "; ".join(warning.code for warning in result.warnings) or None,
                }
            ),
        },
    }


def _processor(machine: Mapping[str, Any], device: str) -> Any:
    if device.startswith("cuda"):
        return next((gpu.get("name") for gpu in machine.get("gpus") or ()), None)
    return (machine.get("cpu") or {}).get("model")


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in facts.items() if value is not None}


def _scaled(value: float | None, scale: float) -> float | None:
    return value * scale if value is not None and math.isfinite(value) else None


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
