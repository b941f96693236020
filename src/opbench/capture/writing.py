"""Writes a capture: the inverse of `reading`, one line per operator and per unique call."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from opbench.capture.call import Call, Capture, Special, TensorSpec


def write(capture: Capture, path: Path | str, schemas: Mapping[str, str] | None = None) -> None:
    """The whole file at once, or nothing: a reader never sees half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not in the place of a device or a pipe (`-o /dev/null`): those are written to.
    special = path.exists() and not path.is_file()
    beside = path if special else path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("w", encoding="utf-8") as stream:
        for line in lines(capture, schemas or {}):
            stream.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")
    if not special:
        os.replace(beside, path)


def lines(capture: Capture, schemas: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    yield dict(capture.header)
    told: set[str] = set()
    for call in capture.calls:
        if call.qualified not in told:
            told.add(call.qualified)
            line: dict[str, Any] = {"operator": call.qualified}
            if call.qualified in schemas:
                line["schema"] = schemas[call.qualified]
            if call.writes:
                line["writes"] = list(call.writes)
            yield line
        yield call_line(call)
    for name, (count, reason) in capture.skipped.items():
        yield {"skipped": name, "count": count, "reason": reason}
    if capture.order:
        words = [
            f"{s.call}:{','.join(map(str, s.reads))}>{','.join(map(str, s.makes))}"
            for s in capture.order
        ]
        spans = [[p, len(list(run))] for p, run in groupby(step.phase for step in capture.order)]
        yield {"order": " ".join(words), "phases": spans}


def call_line(call: Call) -> dict[str, Any]:
    line: dict[str, Any] = {"call": call.qualified, "args": [plain(a) for a in call.args]}
    if call.kwargs:
        line["kwargs"] = {name: plain(value) for name, value in call.kwargs.items()}
    if call.outputs:
        line["out"] = [plain(each) for each in call.outputs]
    line["count"] = dict(call.counts)
    if call.seconds:
        line["seconds"] = {phase: rounded(value) for phase, value in call.seconds.items()}
    if call.modules:
        line["modules"] = list(call.modules)
    if call.apis:
        line["api"] = list(call.apis)
    if call.at:
        line["at"] = {axis: [list(pair) for pair in pairs] for axis, pairs in call.at.items()}
    return line


def plain(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [plain(each) for each in argument]
    if isinstance(argument, Special):
        value = argument.value
        return {argument.kind: list(value) if isinstance(value, tuple) else value}
    if not isinstance(argument, TensorSpec):
        return argument
    line: dict[str, Any] = {"t": argument.text}
    if argument.strides is not None:
        line["s"] = list(argument.strides)
    if argument.offset:
        line["o"] = argument.offset
    if argument.alias is not None:
        line["a"] = argument.alias
    if argument.device != "cpu":
        line["d"] = argument.device
    if argument.values is not None:
        values = argument.values
        line["v"] = list(values) if isinstance(values, tuple) else values
    return line


def rounded(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")
