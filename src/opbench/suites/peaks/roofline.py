"""What operators achieve of what the machine can do: the roofline.

An operator that does `flops` on `bytes` has the intensity flops / bytes. Below the intensity at
which the machine computes as fast as it reads, memory limits it; above, the arithmetic does. What
it achieves of that limit is its share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from opbench.case import Case
from opbench.result import Result
from opbench.store.records import StoredResult
from opbench.suites.peaks.definitions import DTYPES
from opbench.suites.peaks.limits import (
    SUITE,
    TIMES,
    Peaks,
    Place,
    device_of,
    peaks_of,
    place_of,
    results_of,
)

if TYPE_CHECKING:
    from opbench.store import Store


@dataclass(frozen=True)
class Point:
    """One operator: what it achieved, and what it could have."""

    case: Case
    result: Result
    #: Per second; zero where the operator has none.
    flops: float
    bytes: float
    #: FLOP per byte; zero for what only moves data.
    intensity: float
    #: `memory` or `arithmetic`; empty where one of the machine's limits is not known.
    bound: str = ""
    #: Of the limit; more than 1 where data stays in the caches, which a copy from memory does not.
    share: float | None = None
    place: Place = ("", "", 0)


class Roofline(NamedTuple):
    """The points of a run, and the limits of the machines they were measured on."""

    points: list[Point]
    peaks: dict[Place, Peaks]


def of_run(
    store: Store, results: Sequence[StoredResult], facts: Mapping[str, Mapping[str, Any]]
) -> Roofline:
    """The points of these results under the peaks that the store knows."""
    measured = results_of(store)
    more = store.environments({stored.result.fingerprint for stored in measured})
    peaks = peaks_of(measured, more)
    return Roofline(roofline(results, peaks, facts), peaks)


def roofline(
    results: Iterable[StoredResult],
    peaks: Mapping[Place, Peaks],
    facts: Mapping[str, Mapping[str, Any]],
) -> list[Point]:
    """A point for every result whose case has a known amount of work."""
    best: dict[tuple[str, str, str], Point] = {}
    for stored in results:
        case, result = stored.case, stored.result
        times = TIMES.get(device_of(case.device), ())
        if case.suite == SUITE or case.work is None or not result.ok or not result.estimate:
            continue
        if result.metric not in times or result.estimate <= 0:
            continue
        key = (case.hash, result.environment, stored.run_id)
        known = best.get(key)
        if known is None or times.index(result.metric) < times.index(known.result.metric):
            best[key] = point(stored, peaks, place_of(stored, facts))
    return list(best.values())


def point(stored: StoredResult, peaks: Mapping[Place, Peaks], place: Place) -> Point:
    case, seconds = stored.case, float(stored.result.estimate or 0.0)
    assert case.work is not None, "only cases with known work come here"
    flops, moved = case.work.flops / seconds, case.work.bytes / seconds
    intensity = case.work.flops / case.work.bytes if case.work.bytes else 0.0
    bound, share = limit(flops, moved, intensity, case.dtype or "float32", peaks.get(place))
    return Point(case, stored.result, flops, moved, intensity, bound, share, place)


def limit(
    flops: float, moved: float, intensity: float, dtype: str, peaks: Peaks | None
) -> tuple[str, float | None]:
    """What limits an operator, and the share of that limit which it achieves. Unknown where one of
    the two limits is not known, as after an interrupted `opbench peaks`: the other may be lower."""
    arithmetic = peaks.flops.get(dtype, 0.0) if peaks else 0.0
    # Of other dtypes no product is measured: memory is the only limit to hold them against.
    missing = bool(flops) and dtype in DTYPES and not arithmetic
    if peaks is None or not peaks.bandwidth or missing:
        return "", None
    if arithmetic and intensity * peaks.bandwidth >= arithmetic:
        return "arithmetic", flops / arithmetic
    return "memory", moved / peaks.bandwidth if moved else None
