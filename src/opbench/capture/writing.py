"""Writes captures: the inverse of `reading`, one line per operator and per unique call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from opbench.capture.calls import Capture, OperatorCall
from opbench.capture.codec import OPERATORS
from opbench.capture.compiled.graph import graph_line
from opbench.files import writing


def write(capture: Capture, path: Path | str) -> None:
    write_lines(lines(capture), path)


def write_lines(contents: Iterable[dict[str, Any]], path: Path | str) -> None:
    write_text(
        (json.dumps(line, allow_nan=False, separators=(",", ":")) for line in contents), path
    )


def write_text(texts: Iterable[str], path: Path | str) -> None:
    """The whole file at once, or nothing: a reader never sees half of it."""
    with writing(Path(path)) as partial:
        partial.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as stream:
            for text in texts:
                stream.write(text + "\n")


def lines(capture: Capture) -> Iterator[dict[str, Any]]:
    yield dict(capture.header)
    introduced: set[str] = set()
    for call in capture.calls:
        if call.qualified not in introduced:
            introduced.add(call.qualified)
            if call.graph is not None:
                yield graph_line(call.qualified, call.graph)
            line: dict[str, Any] = {"operator": call.qualified}
            if call.qualified in capture.schemas:
                line["schema"] = capture.schemas[call.qualified]
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


def call_line(call: OperatorCall) -> dict[str, Any]:
    optional = {
        "kwargs": {name: OPERATORS.encode(value) for name, value in call.kwargs.items()},
        "out": [OPERATORS.encode(each) for each in call.outputs],
        "count": dict(call.counts),
        "seconds": {phase: rounded(value) for phase, value in call.seconds.items()},
        "awaited_seconds": {p: rounded(value) for p, value in call.awaited_seconds.items()},
        "device_seconds": {p: rounded(value) for p, value in call.device_seconds.items()},
        "modules": list(call.modules),
        "more_modules": call.more_modules,
        "api": list(call.apis),
        "at": {axis: [list(pair) for pair in pairs] for axis, pairs in call.at.items()},
    }
    line = {"call": call.qualified, "args": [OPERATORS.encode(a) for a in call.args]}
    return line | {key: value for key, value in optional.items() if value or key == "count"}


def rounded(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")
