"""Pickles of the layer benchmarks of Opacus and microbe: one file for each layer, mode and size.

They become results of the suite `layers`, under the ids that opbench's own have, so that `compare`,
`history` and `report layers` put past and present side by side. Files of a folder that one command
wrote (the same runs, repeats and seed) are one run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.errors import plural
from opbench.imports.imported import Imported, Unreadable, dictionary, listed, number, sampled
from opbench.result import Result, Sample

TOOL = "opacus"
#: What the files that one command wrote have in common.
COMMAND = ("num_runs", "num_repeats", "random_seed", "forward_only")
BASELINE, HOOKS, WRAPPED = "baseline", "hooks", "gsm_"


def reads(data: Any) -> bool:
    return isinstance(data, dict) and {"layer", "batch_size", "results"} <= set(data)


def read(data: dict[str, Any], path: Path) -> Imported:
    layer, mode = _layer(data)
    batch, repeats = _count(data, "batch_size"), _count(data, "num_repeats")
    entries = [dictionary(e, "an entry of results") for e in listed(data["results"], "results")]
    if not entries:
        raise Unreadable("results is empty")
    config = dictionary(data.get("config") or {}, "config")
    case = Case(
        suite="layers",
        name=layer,
        stage="forward" if data.get("forward_only") else "forward_backward",
        stmt="pass",
        labels=(*_size(path), ("mode", mode), ("batch_size", batch)),
        device="unknown",
        seed=seed if isinstance(seed := data.get("random_seed"), int) else 0,
        unsupported=f"imported from {TOOL}: what it executes is not known here",
    )
    # Runs of one process: they share its address layout, whatever their number.
    times = [_seconds(entry, "runtime") for entry in entries]
    found = [sampled(case, [times], metric="time", unit="s", calls=repeats)]
    memory = [_memory(e["memory_stats"]) for e in entries if e.get("memory_stats") is not None]
    if any(stats.get("max_memory") for stats in memory):  # all zero where there was no GPU
        found.append(_held(case, memory))
    policy = f"fixed runs={len(entries)} repeats={repeats}"
    remark = _remark(data, len(entries))
    if remark:
        found = [result.with_warning("other-runs", remark) for result in found]
    pairs = [
        (case, replace(result, policy=policy, detail={**result.detail, "config": config}))
        for result in found
    ]
    written_by = (str(path.parent), *(repr(data.get(key)) for key in COMMAND))
    return Imported(
        TOOL, 0.0, "", machine={}, environment={}, pairs=pairs, part_of=written_by, remark=remark
    )


def _remark(data: Mapping[str, Any], count: int) -> str:
    """Its results are measurements, however many there are, so they are kept. But Opacus writes a
    file once, after its last run: one that holds another number was changed since."""
    said = data.get("num_runs")
    if said is None or said == count:
        return ""
    return (
        f"the file says num_runs={said!r} and holds {plural(count, 'result')}, so it was changed "
        "after the measurement; check where it comes from"
    )


def _layer(data: Mapping[str, Any]) -> tuple[str, str]:
    """Layer and mode, of files that name the mode and of older ones that call it `gsm_…`."""
    layer, mode = data["layer"], data.get("gsm_mode")
    if not isinstance(layer, str) or not layer:
        raise Unreadable("layer is not a name")
    if not (mode is None or isinstance(mode, str)):
        raise Unreadable("gsm_mode is not a name")
    if layer.startswith(WRAPPED):
        return layer.removeprefix(WRAPPED), mode if mode and mode != BASELINE else HOOKS
    return layer, mode or BASELINE


def _size(path: Path) -> tuple[tuple[str, int], ...]:
    """Which of several sizes of a layer, as opbench writes it into the name of a file."""
    found = re.search(r"_config_(\d+)_bs_", path.name)
    return (("config", int(found[1])),) if found else ()


def _held(case: Case, stats: list[dict[str, int]]) -> Result:
    """The peak above what was there before the step began, and the components of the last run."""
    peaks = [
        held.get("max_memory", 0) - sum(size for name, size in held.items() if name != "max_memory")
        for held in stats
    ]
    last = stats[-1]
    components = {name: size for name, size in last.items() if name != "max_memory"}
    value = float(sorted(peaks)[len(peaks) // 2])
    return Result(
        case.hash,
        "memory",
        "bytes",
        estimate=value,
        low=float(min(peaks)),
        high=float(max(peaks)),
        samples=tuple(Sample(float(peak), order=order) for order, peak in enumerate(peaks)),
        detail={"max_memory": last.get("max_memory", 0), "components": components},
    )


def _memory(stats: Any) -> dict[str, int]:
    found = dictionary(stats, "memory_stats")
    if not all(isinstance(size, int) and not isinstance(size, bool) for size in found.values()):
        raise Unreadable("memory_stats holds something that is not a number of bytes")
    return found


def _count(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Unreadable(f"{key} is {value!r}, not a whole number from 1 up")
    return value


def _seconds(entry: Mapping[str, Any], key: str) -> float:
    value = number(entry.get(key), key)
    if value <= 0:
        raise Unreadable(f"{key} is {value}, not a time")
    return value
