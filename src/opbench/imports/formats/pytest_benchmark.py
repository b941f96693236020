"""pytest-benchmark's JSON (`pytest --benchmark-json FILE`, `--benchmark-save`).

With its raw data (`--benchmark-json`, `--benchmark-save-data`) a result has samples and can be
compared; without, the median and its quartiles are all that is known.
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
    label,
    listed,
    moment,
    number,
    numbers,
    numbers_among,
    sampled,
    summarised,
)
from opbench.result import Result

TOOL = "pytest-benchmark"


def reads(data: Any) -> bool:
    return isinstance(data, dict) and "benchmarks" in data and "machine_info" in data


def read(data: dict[str, Any], path: Path) -> Imported:
    machine = dictionary(data.get("machine_info") or {}, "machine_info")
    commit = dictionary(data.get("commit_info") or {}, "commit_info")
    pairs = []
    for position, benchmark in enumerate(listed(data.get("benchmarks"), "benchmarks"), 1):
        what = f"benchmark {position}"
        pairs.append(_result(dictionary(benchmark, what), what))
    return Imported(
        TOOL,
        created=moment(data.get("datetime")),
        commit=str(commit.get("id") or ""),
        machine={**_machine(machine), "git": {"dirty": bool(commit.get("dirty"))}},
        environment={
            "interpreter": {
                "version": str(machine.get("python_version") or ""),
                "implementation": machine.get("python_implementation"),
                "packages": {},
            }
        },
        pairs=pairs,
    )


def _result(benchmark: dict[str, Any], what: str) -> tuple[Case, Result]:
    name = str(benchmark.get("fullname") or benchmark.get("name") or what)
    params = benchmark.get("params")
    labels = {str(k): label(v) for k, v in params.items()} if isinstance(params, dict) else {}
    if labels and name.endswith("]"):
        # The parameters are the labels: `test_add[64]` with n=64 is `test_add[n=64]`.
        name = name[: name.rindex("[")] if "[" in name else name
    case = imported_case(TOOL, name, labels)
    stats = dictionary(benchmark.get("stats") or {}, f"stats of {what}")
    calls = stats.get("iterations")
    if stats.get("data"):
        values = numbers(stats["data"], f"data of {what}")
        return case, sampled(
            case, [values], metric="time", unit="s", calls=calls if isinstance(calls, int) else 1
        )
    if not isinstance(stats.get("median"), (int, float)):
        raise Unreadable(f"{what} ({name}) has neither data nor a median")
    return case, summarised(
        case,
        number(stats["median"], f"median of {what}"),
        "save it with --benchmark-json or --benchmark-save-data",
        numbers_among(stats, ("min", "q1", "q3", "max", "rounds")),
    )


def _machine(info: dict[str, Any]) -> dict[str, Any]:
    cpu = info.get("cpu")
    cpu = cpu if isinstance(cpu, dict) else {}
    return {
        "system": {"machine_id": str(info.get("node") or ""), "os": info.get("system")},
        "cpu": {
            "model": cpu.get("brand_raw") or info.get("processor"),
            "logical_cores": cpu.get("count"),
            "architecture": info.get("machine"),
        },
    }
