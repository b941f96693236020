"""airspeed velocity's results (`.asv/results/MACHINE/COMMIT-ENVIRONMENT.json`).

A file is a run, dated as its commit, so that a history over imported files is one over commits.
Units and names of parameters come from asv's `benchmarks.json` in the folder above, where it is;
otherwise the name of a benchmark (`time_`, `mem_`, `peakmem_`, `track_`) says what it measures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.imports.imported import (
    LATEST,
    Imported,
    Unreadable,
    dictionary,
    imported_case,
    label_from_text,
    listed,
    number,
    numbers,
    sampled,
    summarised,
)
from opbench.result import Result

TOOL = "asv"
VERSION = 2
#: Files in its folders that hold no results.
OTHERS = ("machine.json", "benchmarks.json")
#: What the function is called, by its beginning → our metric and unit.
KINDS = {
    "time": ("time", "s"), "timeraw": ("time", "s"), "mem": ("memory", "bytes"),
    "peakmem": ("memory", "bytes"), "track": ("count", "count"),
}  # fmt: skip
UNITS = {"seconds": ("time", "s"), "bytes": ("memory", "bytes")}


def reads(data: Any) -> bool:
    return isinstance(data, dict) and {"commit_hash", "results", "params"} <= set(data)


def files(folder: Path) -> list[Path]:
    """Of `.asv/results`, of the folder of a machine in it, or of the project that has it."""
    for root in (folder / ".asv" / "results", folder):
        machines = [
            path.parent for path in (*root.glob("*/machine.json"), *root.glob("machine.json"))
        ]
        found = [path for each in machines for path in each.glob("*.json")]
        if found:
            return [path for path in found if path.name not in OTHERS]
    return []


def read(data: dict[str, Any], path: Path) -> Imported:
    if data.get("version", VERSION) != VERSION or "result_columns" not in data:
        raise Unreadable("asv's format is older than 2; bring it up to date with `asv update`")
    columns = [str(name) for name in listed(data["result_columns"], "result_columns")]
    known = _benchmarks(path)
    pairs: list[tuple[Case, Result]] = []
    for name, row in dictionary(data["results"], "results").items():
        entry = dict(zip(columns, listed(row, name)))
        pairs += _results(name, entry, known.get(name) or {})
    facts = dictionary(data["params"], "params")
    packages = dictionary(data.get("requirements") or {}, "requirements")
    return Imported(
        TOOL,
        created=_seconds(data.get("date")),
        commit=str(data["commit_hash"] or ""),
        machine={
            "system": {"machine_id": str(facts.get("machine") or ""), "os": facts.get("os")},
            "cpu": {"model": facts.get("cpu"), "architecture": facts.get("arch")},
        },
        environment={
            "interpreter": {
                "version": str(data.get("python") or ""),
                "packages": {str(k): str(v) for k, v in packages.items()},
            }
        },
        pairs=pairs,
    )


#: Combinations of the parameters of one benchmark: a few bytes of lists can stand for billions.
MOST_POINTS = 1_000_000


def _results(
    name: str, entry: dict[str, Any], known: dict[str, Any]
) -> Iterator[tuple[Case, Result]]:
    """One for each combination of its parameters, which asv numbers in order."""
    axes = [listed(axis, f"params of {name}") for axis in listed(entry.get("params") or [], name)]
    count = math.prod(map(len, axes))
    if count > MOST_POINTS:
        raise Unreadable(f"{name} has {count:.0e} combinations of parameters")
    values = _of_each(entry.get("result"), count, f"result of {name}")
    samples = _of_each(entry.get("samples"), count, f"samples of {name}")
    calls = _of_each(entry.get("stats_number"), count, f"stats_number of {name}")
    metric, unit = _measures(name, known)
    for position, point in enumerate(product(*axes)):
        labels = dict(zip(_axes(known, len(axes)), map(label_from_text, map(str, point))))
        case = imported_case(TOOL, name, labels)
        value, taken = values[position], samples[position]
        if value is None:
            yield case, Result(case.hash, metric, unit, "failed", "asv has no value of it")
        elif isinstance(value, float) and math.isnan(value):
            yield case, Result(case.hash, metric, unit, "unsupported", "skipped (NaN)")
        elif taken:
            n = calls[position] if isinstance(calls[position], int) else 1
            starts = [numbers(taken, f"samples of {name}")]
            yield case, sampled(case, starts, metric=metric, unit=unit, calls=n)
        else:
            found = number(value, f"result of {name}")
            advice = "run asv with --record-samples"
            yield case, summarised(case, found, advice, {}, metric=metric, unit=unit)


def _of_each(value: Any, count: int, what: str) -> Sequence[Any]:
    if value is None:  # asv shortens a column without values to nothing
        return [None] * count
    found = listed(value, what)
    if len(found) != count:
        raise Unreadable(f"{what} has {len(found)} values for {count} combinations of parameters")
    return found


def _axes(known: dict[str, Any], count: int) -> list[str]:
    names = known.get("param_names")
    names = [str(name) for name in names] if isinstance(names, list) else []
    return [names[i] if i < len(names) else f"param{i + 1}" for i in range(count)]


def _measures(name: str, known: dict[str, Any]) -> tuple[str, str]:
    kind = name.rpartition(".")[2].partition("_")[0].lower()
    return UNITS.get(str(known.get("unit")), KINDS.get(kind, ("count", "count")))


def _benchmarks(path: Path) -> dict[str, dict[str, Any]]:
    """What asv knows of the benchmarks themselves, of a file that may be missing or anything."""
    try:
        data = json.loads((path.parent.parent / "benchmarks.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    items = data.items() if isinstance(data, dict) else ()
    return {name: entry for name, entry in items if isinstance(entry, dict)}


def _seconds(milliseconds: Any) -> float:
    plain = _is_number(milliseconds) and 0 < milliseconds < LATEST * 1e3
    return milliseconds / 1e3 if plain else 0.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
