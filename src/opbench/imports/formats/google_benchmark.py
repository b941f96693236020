"""Google Benchmark's JSON (`--benchmark_out=FILE --benchmark_out_format=json`).

The wall time of one iteration is the time of a call. Repetitions (`--benchmark_repetitions`) of a
benchmark are its samples, of one process; of a file with aggregates only, the median is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.imports.imported import (
    Imported,
    Unreadable,
    dictionary,
    imported_case,
    listed,
    moment,
    number,
    sampled,
    summarised,
)
from opbench.result import Result

TOOL = "Google Benchmark"
SUITE = "google-benchmark"
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def reads(data: Any) -> bool:
    return isinstance(data, dict) and "benchmarks" in data and "context" in data


def read(data: dict[str, Any], path: Path) -> Imported:
    context = dictionary(data["context"], "context")
    families: dict[str, list[dict[str, Any]]] = {}
    for position, entry in enumerate(listed(data["benchmarks"], "benchmarks"), 1):
        entry = dictionary(entry, f"benchmark {position}")
        name = str(entry.get("run_name") or entry.get("name") or f"benchmark {position}")
        families.setdefault(name, []).append(entry)
    return Imported(
        SUITE,
        created=moment(context.get("date")),
        commit="",
        machine={
            "system": {"machine_id": str(context.get("host_name") or "")},
            "cpu": {"logical_cores": context.get("num_cpus")},
        },
        environment={
            "library_build_type": context.get("library_build_type"),
            "executable": context.get("executable"),
        },
        pairs=[_result(name, entries) for name, entries in families.items()],
    )


def _result(name: str, entries: list[dict[str, Any]]) -> tuple[Case, Result]:
    case = imported_case(SUITE, name)
    runs = [each for each in entries if each.get("run_type", "iteration") == "iteration"]
    for entry in runs:
        if entry.get("error_occurred"):
            return case, Result(case.hash, "time", "s", "failed", str(entry.get("error_message")))
        if entry.get("skipped"):
            reason = str(entry.get("skip_message") or "skipped")
            return case, Result(case.hash, "time", "s", "unsupported", reason)
    if runs:
        calls = [int(number(each.get("iterations", 1), f"iterations of {name}")) for each in runs]
        values = [_seconds(each, name) for each in runs]
        return case, sampled(case, [values], metric="time", unit="s", calls=calls)
    chosen = {str(each.get("aggregate_name")): each for each in entries}
    middle = chosen.get("median") or chosen.get("mean")
    if middle is None:
        raise Unreadable(f"{name} has neither an iteration nor a median")
    advice = "write it without --benchmark_report_aggregates_only"
    return case, summarised(case, _seconds(middle, name), advice, {})


def _seconds(entry: dict[str, Any], name: str) -> float:
    unit = str(entry.get("time_unit") or "ns")
    if unit not in SECONDS:
        raise Unreadable(f"the time unit of {name} is {unit!r}, not one of {', '.join(SECONDS)}")
    return number(entry.get("real_time"), f"real_time of {name}") * SECONDS[unit]
