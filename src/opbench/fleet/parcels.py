"""What is measured on one node at one moment, and never apart.

A parcel holds one comparison group; groups whose cases must first agree on what they compute share
one, since that is found out where they run. Instructions do not mind company: those of many cases
make a parcel of their own, because a start under Valgrind costs as much as ten cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from opbench.plan.groups import PlannedGroup, Slot
from opbench.result import Metric

#: Cases whose instructions are counted by the same agent.
COUNTED_TOGETHER = 20


@dataclass(frozen=True)
class Parcel:
    number: int
    groups: tuple[PlannedGroup, ...]
    metrics: tuple[str, ...]
    #: Takes time, so it must be alone with its device; otherwise it counts.
    timed: bool
    #: `cpu` or `gpu`.
    device: str

    @property
    def slots(self) -> list[Slot]:
        return [slot for group in self.groups for slot in group.slots]

    @property
    def name(self) -> str:
        return self.groups[0].id


def parcels(groups: Sequence[PlannedGroup], metrics: Sequence[Metric]) -> list[Parcel]:
    """All of a plan: what is timed first, then what is counted."""
    timed = tuple(metric.name for metric in metrics if not metric.tool)
    counted = tuple(metric.name for metric in metrics if metric.tool)
    found: list[Parcel] = []
    if timed:
        for together in _inseparable(groups):
            found.append(Parcel(len(found), together, timed, True, device_of(together)))
    if counted:
        for together in _chunks(groups):
            found.append(Parcel(len(found), together, counted, False, "cpu"))
    return found


def device_of(groups: Iterable[PlannedGroup]) -> str:
    devices = {slot.case.device.partition(":")[0] for group in groups for slot in group.slots}
    return "gpu" if devices - {"cpu"} else "cpu"


def _inseparable(groups: Sequence[PlannedGroup]) -> Iterator[tuple[PlannedGroup, ...]]:
    """Groups with a parity key in common, joined; in the order of the plan."""
    joined: list[list[PlannedGroup]] = []
    by_key: dict[str, list[PlannedGroup]] = {}
    for group in groups:
        parities = (getattr(slot.case, "parity", None) for slot in group.slots)
        keys = [parity.key for parity in parities if parity is not None]
        home = next((by_key[key] for key in keys if key in by_key), None)
        if home is None:
            home = []
            joined.append(home)
        home.append(group)
        for key in keys:
            other = by_key.setdefault(key, home)
            if other is not home:  # this group ties two together that stood apart so far
                home += [one for one in other if one not in home]
                joined = [one for one in joined if one is not other]
                by_key = {k: home if v is other else v for k, v in by_key.items()}
    return map(tuple, joined)


def _chunks(groups: Sequence[PlannedGroup]) -> Iterator[tuple[PlannedGroup, ...]]:
    chunk: list[PlannedGroup] = []
    for group in groups:
        chunk.append(group)
        if sum(len(one.slots) for one in chunk) >= COUNTED_TOGETHER:
            yield tuple(chunk)
            chunk = []
    if chunk:
        yield tuple(chunk)
