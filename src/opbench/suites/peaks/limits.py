"""The limits of a machine, from the stored results of the suite `peaks`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opbench.result import Result
from opbench.stats.contention import quiet
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from opbench.store import Store

SUITE = "peaks"

#: Metrics of how long a call took, best first, by device: on a GPU the time that it works.
TIMES = {"cpu": ("time", "host_time"), "cuda": ("device_time", "host_time", "time")}


@dataclass
class Peaks:
    """The best undisturbed rates seen on one machine, one device, with that many threads."""

    device: str
    threads: int
    #: FLOP/s of the fastest matrix product, by dtype.
    flops: dict[str, float] = field(default_factory=dict)
    #: Bytes per second, read and written, of the fastest copy.
    bandwidth: float = 0.0
    #: When the latest of them was measured.
    created: float = 0.0


#: Machine, device, threads.
Place = tuple[str, str, int]


def machine_of(facts: Mapping[str, Any] | None) -> str:
    """The machine as text; equal for two machines of a kind."""
    machine = (facts or {}).get("machine") or {}
    return json.dumps(machine, sort_keys=True, default=str)


def device_of(device: str) -> str:
    return device.partition(":")[0]


def place_of(stored: StoredResult, facts: Mapping[str, Mapping[str, Any]]) -> Place:
    case = stored.case
    # The number of threads means nothing on a GPU.
    threads = case.threads if device_of(case.device) == "cpu" else 0
    machine = machine_of(facts.get(stored.result.fingerprint))
    return (machine, device_of(case.device), threads)


def peaks_of(
    results: Iterable[StoredResult], facts: Mapping[str, Mapping[str, Any]]
) -> dict[Place, Peaks]:
    """The best results of the suite `peaks`, for each place."""
    by_place: dict[Place, Peaks] = {}
    for stored in results:
        case, result = stored.case, stored.result
        if case.suite != SUITE or case.work is None or not result.ok or not result.estimate:
            continue
        if result.metric not in TIMES.get(device_of(case.device), ()):
            continue
        seconds = fastest(result)
        if seconds is None:
            continue
        place = place_of(stored, facts)
        peaks = by_place.setdefault(place, Peaks(place[1], place[2]))
        peaks.created = max(peaks.created, result.created)
        if case.work.flops:
            rate = case.work.flops / seconds
            peaks.flops[case.dtype] = max(peaks.flops.get(case.dtype, 0.0), rate)
        else:
            peaks.bandwidth = max(peaks.bandwidth, case.work.bytes / seconds)
    return by_place


def fastest(result: Result) -> float | None:
    """Seconds of the best block that nothing disturbed: a limit is what the machine can do, and a
    neighbour's load is no part of that. None where every block was disturbed."""
    if not result.samples:
        return result.estimate
    return min((block.value for block in quiet(result.samples)), default=None)


def results_of(store: Store) -> list[StoredResult]:
    """All stored results of the suite `peaks`."""
    runs = [run for run in store.runs() if SUITE in (run.request.get("targets") or ())]
    return [stored for run in runs for stored in store.results(run=run)]
