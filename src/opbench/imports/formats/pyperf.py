"""pyperf's JSON (`python -m pyperf … -o FILE`), of pyperf 0.9.6 and later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opbench.imports.imported import (
    Imported,
    Unreadable,
    dictionary,
    imported_case,
    listed,
    moment,
    numbers,
    sampled,
)

TOOL = "pyperf"
#: pyperf 1.0 and later, and 0.9.6: the values are the same, only warm-ups differ.
VERSIONS = ("1.0", 6)
#: pyperf's unit → our metric and unit.
METRICS = {"second": ("time", "s"), "byte": ("memory", "bytes"), "integer": ("count", "count")}


def reads(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and "benchmarks" in data
        and "version" in data
        and "machine_info" not in data
    )


def read(data: dict[str, Any], path: Path) -> Imported:
    if data.get("version") not in VERSIONS:
        raise Unreadable(
            f"pyperf's format {data.get('version')!r} is not supported; rewrite the file with "
            "`python -m pyperf convert OLD -o NEW` of a recent pyperf"
        )
    common = dictionary(data.get("metadata") or {}, "metadata")
    pairs = []
    first: dict[str, Any] = {}
    for position, benchmark in enumerate(listed(data.get("benchmarks"), "benchmarks"), 1):
        what = f"benchmark {position}"
        benchmark = dictionary(benchmark, what)
        own = {**common, **dictionary(benchmark.get("metadata") or {}, f"metadata of {what}")}
        runs = [dictionary(run, f"a run of {what}") for run in listed(benchmark.get("runs"), what)]
        values = [numbers(run.get("values") or [], f"values of {what}") for run in runs]
        facts = [dictionary(run.get("metadata") or {}, f"metadata of {what}") for run in runs]
        dates = [each.get("date") for each in facts]
        first = first or {**own, "date": own.get("date") or next(filter(None, dates), "")}
        name = str(own.get("name") or f"benchmark {position}")
        metric, unit = METRICS.get(str(own.get("unit") or "second"), ("count", "count"))
        loops = own.get("loops") or (facts[-1].get("loops") if facts else 1)
        case = imported_case(TOOL, name)
        # Runs without values only calibrated the loop.
        measured = [each for each in values if each]
        calls = loops if isinstance(loops, int) else 1
        pairs.append((case, sampled(case, measured, metric=metric, unit=unit, calls=calls)))
    return Imported(
        TOOL,
        created=moment(first.get("date")),
        commit="",
        machine=_machine(first),
        environment=_environment(first),
        pairs=pairs,
    )


def _machine(metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "system": {
            "machine_id": str(metadata.get("hostname") or ""),
            "os": metadata.get("platform"),
        },
        "cpu": {
            "model": metadata.get("cpu_model_name"),
            "logical_cores": metadata.get("cpu_count"),
        },
    }


def _environment(metadata: dict[str, Any]) -> dict[str, Any]:
    # "3.11.7 (64-bit) revision …"
    version = str(metadata.get("python_version") or "").split(" ")[0]
    return {
        "interpreter": {
            "version": version,
            "implementation": metadata.get("python_implementation"),
            "packages": {},
        }
    }
