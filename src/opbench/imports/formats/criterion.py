"""criterion.rs: the messages of cargo-criterion, and what criterion itself leaves behind.

`cargo criterion --message-format=json > FILE` writes a line for each benchmark. Without
cargo-criterion, `target/criterion` holds a folder for each, of which `new/sample.json` is read,
with its name from `new/benchmark.json`; those of one `target/criterion` are one run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.imports.imported import (
    Imported,
    Unreadable,
    imported_case,
    numbers,
    sampled,
)
from opbench.result import Result

TOOL = "criterion"
#: Of time; a plug-in may measure anything else, which is a count here.
SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
COMPLETE = "benchmark-complete"


def reads(data: Any) -> bool:
    if isinstance(data, dict) and {"iters", "times"} <= set(data):
        return True
    messages = data if isinstance(data, list) else [data]
    return bool(messages) and all(isinstance(m, dict) and "reason" in m for m in messages)


def files(folder: Path) -> list[Path]:
    return list(folder.glob("**/new/sample.json"))


def read(data: Any, path: Path) -> Imported:
    if isinstance(data, dict) and "iters" in data:
        return _saved(data, path)
    messages = data if isinstance(data, list) else [data]
    pairs = [
        _result(str(m.get("id")), m.get("measured_values"), m.get("iteration_count"), m.get("unit"))
        for m in messages
        if m["reason"] == COMPLETE
    ]
    return Imported(TOOL, 0.0, "", machine={}, environment={}, pairs=pairs)


def _saved(data: dict[str, Any], path: Path) -> Imported:
    """ROOT/GROUP/FUNCTION/VALUE/new/sample.json: the depth differs between benchmarks."""
    about = _about(path)
    folder = str(about.get("directory_name") or path.absolute().parent.parent.name)
    parents = path.absolute().parents
    depth = min(1 + len(Path(folder).parts), len(parents) - 1)
    name = str(about.get("full_id") or folder)
    pair = _result(name, data["times"], data["iters"], "ns")
    root = parents[depth]
    return Imported(
        TOOL,
        0.0,
        "",
        machine={},
        environment={},
        pairs=[pair],
        part_of=(str(root),),
        name=root.name,
    )


def _about(path: Path) -> dict[str, Any]:
    """The file in the same folder that names the benchmark; it may be missing or anything."""
    try:
        data = json.loads((path.parent / "benchmark.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _result(name: str, measured: Any, iterations: Any, unit: Any) -> tuple[Case, Result]:
    """A sample is a whole batch of iterations: one value for all of them together."""
    totals = numbers(measured, f"measured values of {name}")
    counts = numbers(iterations, f"iteration counts of {name}")
    if len(totals) != len(counts) or not all(count >= 1 for count in counts):
        raise Unreadable(f"{name} has {len(totals)} values and {len(counts)} counts from 1 up")
    scale = SECONDS.get(str(unit))
    metric = ("count", "count") if scale is None else ("time", "s")
    values = [total / count * (scale or 1.0) for total, count in zip(totals, counts)]
    case = imported_case(TOOL, name)
    calls = [int(count) for count in counts]
    return case, sampled(case, [values], metric=metric[0], unit=metric[1], calls=calls)
