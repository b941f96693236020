"""nvbench's JSON (`--json FILE`), and the samples of `--jsonbin FILE` where they were written.

Isolated launches are `device_time_cold` (nvbench clears the L2 cache before each) and, as the host
sees them, `host_time`; launches in a batch are `device_time`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from opbench.case import Case, Label
from opbench.imports.imported import (
    Imported,
    Unreadable,
    dictionary,
    imported_case,
    listed,
    number,
    sampled,
    summarised,
)
from opbench.result import Result

TOOL = "nvbench"
MAJOR = 1
#: nvbench's summary → our metric.
MEANS = {
    "nv/cold/time/gpu/mean": "device_time_cold",
    "nv/batch/time/gpu/mean": "device_time",
    "nv/cold/time/cpu/mean": "host_time",
    "nv/cpu_only/time/cpu/mean": "time",
}
#: The summary that names the file of samples of each: little-endian float32.
SAMPLES = {
    "device_time_cold": "nv/json/bin:nv/cold/sample_times",
    "time": "nv/json/bin:nv/cpu_only/sample_times",
}
LARGEST = 1 << 26


def reads(data: Any) -> bool:
    return isinstance(data, dict) and "benchmarks" in data and "devices" in data


def read(data: dict[str, Any], path: Path) -> Imported:
    meta = dictionary(data.get("meta") or {}, "meta")
    versions = dictionary(meta.get("version") or {}, "meta.version")
    written, program = (
        dictionary(versions.get(name) or {}, f"meta.version.{name}") for name in ("json", "nvbench")
    )
    if written.get("major") != MAJOR:
        raise Unreadable(
            f"nvbench's format {written.get('string')!r} is not supported, only {MAJOR}.x"
        )
    devices = [dictionary(each, "a device") for each in listed(data["devices"] or [], "devices")]
    pairs: list[tuple[Case, Result]] = []
    for benchmark in listed(data["benchmarks"], "benchmarks"):
        benchmark = dictionary(benchmark, "a benchmark")
        for state in listed(benchmark.get("states") or [], "states"):
            pairs += _results(benchmark, dictionary(state, "a state"), path)
    return Imported(
        TOOL,
        created=0.0,
        commit="",
        machine={"gpus": [{"name": each.get("name")} for each in devices]},
        environment={"nvbench": program.get("string")},
        pairs=pairs,
    )


def _results(
    benchmark: dict[str, Any], state: dict[str, Any], path: Path
) -> Iterator[tuple[Case, Result]]:
    name = str(benchmark.get("name"))
    labels: dict[str, Label] = {}
    for axis in listed(state.get("axis_values") or [], f"axis_values of {name}"):
        axis = dictionary(axis, f"an axis of {name}")
        labels[str(axis.get("name"))] = _value(axis)
    if len(listed(benchmark.get("devices") or [], f"devices of {name}")) > 1:
        labels["gpu"] = str(state.get("device"))
    case = imported_case(TOOL, name, labels, device="cuda")
    summaries = {
        str(each.get("tag")): _data(each)
        for each in listed(state.get("summaries") or [], f"summaries of {name}")
        if isinstance(each, dict)
    }
    if state.get("is_skipped"):
        reason = str(state.get("skip_reason") or "skipped")
        yield case, Result(case.hash, "device_time_cold", "s", "unsupported", reason)
        return
    for tag, metric in MEANS.items():
        if tag not in summaries:
            continue
        value = number(summaries[tag].get("value"), f"{tag} of {name}")
        samples = _samples(summaries.get(SAMPLES.get(metric, ""), {}), path)
        if samples:
            yield case, sampled(case, [samples], metric=metric, unit="s")
        else:
            advice = "write it with --jsonbin"
            yield case, summarised(case, value, advice, {}, metric=metric, unit="s")


def _data(summary: dict[str, Any]) -> dict[str, Label]:
    data = summary.get("data")
    entries = data if isinstance(data, list) else []
    return {str(each.get("name")): _value(each) for each in entries if isinstance(each, dict)}


def _value(entry: dict[str, Any]) -> Label:
    """Numbers are text in the file, so that none loses a digit."""
    kind, value = entry.get("type"), entry.get("value")
    try:
        if kind == "int64":
            return int(str(value))
        if kind == "float64":
            return float(str(value))
    except ValueError:
        raise Unreadable(f"{entry.get('name')} is {value!r}, not {kind}") from None
    return str(value)


def _samples(summary: dict[str, Label], path: Path) -> list[float]:
    """Of the file that the summary names, which must stand beside the one that names it."""
    name = summary.get("filename")
    if not name:
        return []
    parts = PurePosixPath(str(name)).parts
    if ".." in parts or str(name).startswith("/"):
        raise Unreadable(f"the samples are in {name!r}, outside of its folder")
    try:
        with (path.parent / Path(*parts)).open("rb") as file:
            content = file.read(LARGEST)
    except (OSError, ValueError):
        return []  # the JSON was copied without its folder of samples
    values = array("f")
    values.frombytes(content[: len(content) // 4 * 4])
    return [float(each) for each in values if math.isfinite(each)]
