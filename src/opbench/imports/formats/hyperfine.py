"""hyperfine's JSON (`hyperfine --export-json FILE`): a process per run of a command.

Its memory is the peak of a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.imports.imported import (
    Imported,
    Unreadable,
    dictionary,
    imported_case,
    label_from_text,
    number,
    numbers,
    sampled,
    summarised,
)
from opbench.result import Result

TOOL = "hyperfine"


def reads(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return False
    return set(data) == {"results"} or (
        bool(data["results"])
        and isinstance(data["results"][0], dict)
        and "command" in data["results"][0]
    )


def read(data: dict[str, Any], path: Path) -> Imported:
    pairs: list[tuple[Case, Result]] = []
    for position, entry in enumerate(data["results"], 1):
        pairs += _results(dictionary(entry, f"result {position}"), f"result {position}")
    return Imported(TOOL, 0.0, "", machine={}, environment={}, pairs=pairs)


def _results(entry: dict[str, Any], what: str) -> Iterator[tuple[Case, Result]]:
    parameters = dictionary(entry.get("parameters") or {}, f"parameters of {what}")
    labels = {str(name): label_from_text(str(value)) for name, value in parameters.items()}
    case = imported_case(TOOL, str(entry.get("command") or what), labels)
    given = entry.get("exit_codes")
    codes = given if isinstance(given, list) else []
    failed = sum(code != 0 for code in codes)
    if entry.get("times"):
        times = numbers(entry["times"], f"times of {what}")
        result = sampled(case, [[each] for each in times], metric="time", unit="s")
    elif isinstance(entry.get("median", entry.get("mean")), (int, float)):
        value = number(entry.get("median", entry.get("mean")), f"median of {what}")
        result = summarised(case, value, "keep the times of the file", {})
    else:
        raise Unreadable(f"{what} ({case.name}) has neither times nor a median")
    if failed:
        text = f"{failed} of its {len(codes)} runs did not end with 0; check the command"
        result = result.with_warning("exit-codes", text)
    yield case, result
    held = entry.get("memory_usage_byte")
    if held and any(held if isinstance(held, list) else ()):  # zero where it is not measured
        peaks = numbers(held, f"memory_usage_byte of {what}")
        yield case, sampled(case, [[each] for each in peaks], metric="memory", unit="bytes")
