"""pyperf JSON: what `python -m pyperf stats`, `hist` and `compare_to` read.

One benchmark per result, one pyperf run per child of a worker: pyperf, too, treats processes as the
unit of replication. Failures and values of zero or less do not exist there, and are left out; so
are blocks that other programs disturbed, because `compare_to` compares the means of all values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

from opbench.report.naming import names
from opbench.report.units import format_time
from opbench.stats.contention import quiet
from opbench.store.records import RunRecord, StoredResult

NEEDS_SAMPLES = True
HOLDS = "only results with an undisturbed sample above zero"
FORMAT = "1.0"
UNITS = {"s": "second", "bytes": "byte"}


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    by_id = {run.id: run for run in runs}
    named = zip(results, names(results))
    held = [
        (stored, benchmark)
        for stored, name in named
        if (benchmark := _benchmark(stored, name, by_id.get(stored.run_id))) is not None
    ]
    benchmarks = [benchmark for _, benchmark in held]
    json.dump({"version": FORMAT, "benchmarks": benchmarks}, stream, ensure_ascii=True)
    stream.write("\n")
    return [stored for stored, _ in held]


def _benchmark(stored: StoredResult, name: str, run: RunRecord | None) -> dict[str, Any] | None:
    result, case = stored.result, stored.case
    children: dict[tuple[int, int], list[float]] = {}
    loops: dict[tuple[int, int], int] = {}
    kept = quiet(result.samples)
    for sample in kept:
        if sample.value > 0:
            child = (sample.start, sample.session)
            children.setdefault(child, []).append(sample.value)
            loops[child] = max(1, sample.n)
    if not result.ok or not children:
        return None
    metadata = {
        "name": name,
        "unit": UNITS.get(result.unit, "integer"),
        "opbench_case": case.hash,
        "opbench_run": stored.run_id,
        "opbench_disturbed": len(result.samples) - len(kept),
        **_machine(run),
    }
    date = format_time(result.created, "%Y-%m-%d %H:%M:%S")
    members = [
        {
            "values": values,
            "metadata": {"loops": loops[child], **({"date": date} if date else {})},
        }
        for child, values in children.items()
    ]
    return {"metadata": metadata, "runs": members}


def _machine(run: RunRecord | None) -> dict[str, Any]:
    """Under pyperf's own names, so that its `metadata` command shows them."""
    if run is None:
        return {}
    cpu, python = run.machine.get("cpu") or {}, run.machine.get("python") or {}
    metadata = {
        "cpu_model_name": cpu.get("model"),
        "cpu_count": cpu.get("logical_cores"),
        "python_version": python.get("version"),
        "python_implementation": str(python.get("implementation") or "").lower(),
    }
    return {key: value for key, value in metadata.items() if value}
