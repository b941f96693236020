"""pytest-benchmark JSON: what `pytest-benchmark compare` and its readers (Bencher, actions) read.

One benchmark per timed result, its samples as rounds, without those that other programs disturbed;
other metrics have no place in that format.
"""

from __future__ import annotations

import json
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, TextIO

from opbench.report.naming import names
from opbench.stats.contention import quiet
from opbench.store.records import RunRecord, StoredResult

NEEDS_SAMPLES = True
HOLDS = "only times with at least one undisturbed sample"


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    timed = [s for s in results if s.result.ok and s.result.unit == "s" and quiet(s.result.samples)]
    run = next((each for each in runs if timed and each.id == timed[-1].run_id), None)
    file = {
        "machine_info": _machine(run),
        "commit_info": _commit(run),
        "benchmarks": [_benchmark(stored, name) for stored, name in zip(timed, names(timed))],
        "datetime": datetime.fromtimestamp(run.created if run else 0, tz=timezone.utc).isoformat(),
        "version": "5.0.0",
    }
    json.dump(file, stream, ensure_ascii=True, indent=1)
    stream.write("\n")
    return timed


def _benchmark(stored: StoredResult, name: str) -> dict[str, Any]:
    case, result = stored.case, stored.result
    kept = quiet(result.samples)
    return {
        "group": None,
        "name": name,
        "fullname": name,
        "params": dict(case.labels) or None,
        "param": None,
        "extra_info": {
            "opbench_case": case.hash,
            "opbench_run": stored.run_id,
            "estimate": result.estimate,
            "low": result.low,
            "high": result.high,
            "disturbed": len(result.samples) - len(kept),
        },
        "options": {"timer": "perf_counter_ns", "warmup": True, "disable_gc": True},
        "stats": stats([each.value for each in kept], iterations=max(1, kept[0].n)),
    }


def stats(values: Sequence[float], iterations: int = 1) -> dict[str, Any]:
    """The statistics that pytest-benchmark keeps, under its names."""
    ordered = sorted(values)
    mean = statistics.fmean(ordered)
    stddev = statistics.stdev(ordered) if len(ordered) > 1 else 0.0
    q1, _, q3 = (
        statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    )
    iqr = q3 - q1
    inside = (bisect_left(ordered, q1 - 1.5 * iqr), bisect_right(ordered, q3 + 1.5 * iqr) - 1)
    beyond = len(ordered) - (inside[1] - inside[0] + 1)
    away = sum(abs(value - mean) > stddev for value in ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": stddev,
        "rounds": len(ordered),
        "median": statistics.median(ordered),
        "iqr": iqr,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": beyond,
        "stddev_outliers": away,
        "outliers": f"{away};{beyond}",
        "ld15iqr": ordered[inside[0]],
        "hd15iqr": ordered[inside[1]],
        "ops": 1 / mean if mean else 0.0,
        "total": sum(ordered),
        "data": list(values),
        "iterations": iterations,
    }


def _machine(run: RunRecord | None) -> dict[str, Any]:
    machine = run.machine if run else {}
    cpu, python, system = (machine.get(key) or {} for key in ("cpu", "python", "system"))
    return {
        "node": str(system.get("machine_id") or ""),
        "machine": str(cpu.get("architecture") or ""),
        "system": "Linux",
        "release": str(system.get("kernel") or ""),
        "python_implementation": str(python.get("implementation") or ""),
        "python_version": str(python.get("version") or ""),
        "cpu": {"brand_raw": cpu.get("model"), "count": cpu.get("logical_cores")},
    }


def _commit(run: RunRecord | None) -> dict[str, Any]:
    git = (run.machine.get("git") or {}) if run else {}
    return {
        "id": run.commit if run else "",
        "dirty": bool(git.get("dirty")),
        "time": datetime.fromtimestamp(run.created if run else 0, tz=timezone.utc).isoformat(),
    }
