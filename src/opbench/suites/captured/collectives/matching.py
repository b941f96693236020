"""Which collectives the ranks of a program made together, from the captures of all of them.

Every rank calls its own part: the same operator, on tensors of its own, in a group that holds it.
The parts are matched by their order in the step, as a process group does it. A file may say
anything, so what cannot be replayed is found here, before a process is started: ranks that wait for
what no other rank calls would wait until their time is over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from opbench.capture.calls import POINT_TO_POINT, Capture, OperatorCall
from opbench.capture.codec import REDUCE_OPS
from opbench.capture.values import GroupSpec, Opaque, TensorSpec, TorchConstant, leaves
from opbench.errors import UserError, plural
from opbench.suites.captured.findings.ranks import message_bytes

#: Collectives to which every rank brings as much as any other.
EVEN = frozenset({
    "c10d::allreduce_", "c10d::allreduce_coalesced_", "c10d::broadcast_", "c10d::reduce_",
    "c10d::_allgather_base_", "c10d::allgather_into_tensor_coalesced_",
    "c10d::_reduce_scatter_base_", "c10d::reduce_scatter_tensor_coalesced_", "c10d::barrier",
    "_c10d_functional::all_reduce", "_c10d_functional::all_reduce_",
    "_c10d_functional::all_reduce_coalesced", "_c10d_functional::all_reduce_coalesced_",
    "_c10d_functional::all_gather_into_tensor", "_c10d_functional::all_gather_into_tensor_out",
    "_c10d_functional::all_gather_into_tensor_coalesced", "_c10d_functional::broadcast",
    "_c10d_functional::broadcast_", "_c10d_functional::reduce_scatter_tensor",
    "_c10d_functional::reduce_scatter_tensor_out",
    "_c10d_functional::reduce_scatter_tensor_coalesced", "_dtensor::shard_dim_alltoall",
})  # fmt: skip
#: Those in which ranks may bring different sizes, or one of them a list for all.
UNEVEN = frozenset({
    "c10d::allgather_", "c10d::allgather_coalesced_", "c10d::reduce_scatter_", "c10d::alltoall_",
    "c10d::alltoall_base_", "c10d::gather_", "c10d::scatter_",
    "_c10d_functional::all_to_all_single",
})  # fmt: skip
REPLAYED = EVEN | UNEVEN
#: Waits for what a functional collective returned.
WAIT = "_c10d_functional::wait_tensor"
#: In the same namespaces, and no collectives.
LOCAL = (WAIT, "_c10d_functional::_wrap_tensor_autograd", "c10d::check_for_nan")
#: Backend → the device whose tensors it is replayed with.
BACKENDS = {"gloo": "cpu", "nccl": "cuda"}
#: Of a call in an error message.
LONGEST_BRIEF = 120


@dataclass(frozen=True)
class Collective:
    """One unique collective of the step."""

    #: The call of every rank, by rank.
    calls: tuple[OperatorCall, ...]
    per_step: float
    #: Seconds per call until it was complete, while captured, in the mean of the ranks; on a GPU,
    #: of the GPU's time. None where it was not timed.
    captured: float | None = None
    #: Why it cannot be replayed; empty when it can.
    obstacle: str = ""

    @property
    def name(self) -> str:
        """`c10d::allreduce_ SUM`"""
        return " ".join([self.calls[0].qualified, *reductions(self.calls[0])])

    @property
    def group_size(self) -> int | None:
        group = self.calls[0].group
        return len(group.ranks) if group else None

    @property
    def bytes(self) -> int:
        return max(message_bytes(call) for call in self.calls)


def reductions(call: OperatorCall) -> list[str]:
    """`["SUM"]`; none of a collective that does not reduce. Functional ones have it as text."""
    constants = (v for v in leaves(call.given.values) if isinstance(v, (str, TorchConstant)))
    names = (v.upper() if isinstance(v, str) else v.name for v in constants)
    return [name for name in names if name in REDUCE_OPS]


def by_rank(captures: Sequence[Capture]) -> list[Capture]:
    """The captures in the order of their ranks; raises unless there is one of each."""
    found = sorted(captures, key=rank_of)
    ranks = {int(capture.header.get("ranks", 1)) for capture in captures}
    expected = max(ranks)
    if len(ranks) > 1 or [rank_of(capture) for capture in found] != list(range(expected)):
        listed = ", ".join(f"{each.name} (rank {rank_of(each)})" for each in found)
        raise UserError(
            f"the program had {plural(expected, 'rank')}; name the file of each, once: got {listed}"
        )
    return found


def rank_of(capture: Capture) -> int:
    return int(capture.header.get("rank", 0))


def matched(captures: Sequence[Capture]) -> list[Collective]:
    """The unique collectives of the step, in the order of their first call. `captures`: by rank."""
    sequences = [sequence_of(capture) for capture in captures]
    if not any(sequences):
        names = captures[0].name if len(captures) == 1 else f"{captures[0].name} and the others"
        raise UserError(f"{names}: no collective in the captured step")
    check_alike(captures, sequences)
    waits = [waits_of(capture) for capture in captures]
    counts = Counter(tuple(call.index for call in calls) for calls in zip(*sequences))
    found = []
    for indices, count in counts.items():
        calls = tuple(each.calls[index] for each, index in zip(captures, indices))
        times = [captured_seconds(call, wait) for call, wait in zip(calls, waits)]
        known = [seconds for seconds in times if seconds is not None]
        found.append(
            Collective(
                calls,
                count if captures[0].order else calls[0].count / captures[0].steps,
                sum(known) / len(known) if len(known) == len(times) else None,
                obstacle_of(calls),
            )
        )
    return found


def sequence_of(capture: Capture) -> list[OperatorCall]:
    """The collectives of the last captured step, in order; of a step too long to have one, each
    unique call once."""
    calls = [capture.calls[step.call] for step in capture.order] or capture.calls
    return [call for call in calls if call.operator in REPLAYED]


def check_alike(captures: Sequence[Capture], sequences: Sequence[Sequence[OperatorCall]]) -> None:
    first = sequences[0]
    for capture, other in zip(captures[1:], sequences[1:]):
        both = f"{captures[0].name} and {capture.name} make different collectives"
        for place, (ours, theirs) in enumerate(zip(first, other), 1):
            if kind_of(ours) != kind_of(theirs):
                raise UserError(
                    f"{both}: number {place} of the step is {brief(ours)} in one and "
                    f"{brief(theirs)} in the other; capture the same steps of all ranks"
                )
        if len(first) != len(other):
            raise UserError(
                f"{both}: {len(first)} and {len(other)} per step; capture the same steps of all "
                "ranks"
            )


def kind_of(call: OperatorCall) -> tuple[Any, ...]:
    """What must be equal in all ranks for a call to end."""
    group = call.group
    kind = (call.qualified, len(group.ranks) if group else 0, tuple(reductions(call)))
    if call.operator in UNEVEN:
        return kind
    values = leaves(call.given.values)
    return *kind, tuple(
        (value.dtype, prod(value.shape)) if isinstance(value, TensorSpec) else value
        for value in values
        if not isinstance(value, GroupSpec)
    )


def brief(call: OperatorCall) -> str:
    return (call.qualified + call.signature())[:LONGEST_BRIEF]


def obstacle_of(calls: Sequence[OperatorCall]) -> str:
    groups = [call.group for call in calls]
    for rank, (call, group) in enumerate(zip(calls, groups)):
        if group is None:
            return "recorded without its process group: capture the program again"
        opaque = (value for value in leaves(call.given.values) if isinstance(value, Opaque))
        if found := next(opaque, None):
            return found.obstacle
        if group.backend not in BACKENDS:
            return f"its backend is {group.backend}; {' and '.join(BACKENDS)} are replayed"
        device = BACKENDS[group.backend]
        if any(tensor.device.partition(":")[0] != device for tensor in call.tensors):
            return f"{group.backend} is replayed with tensors on {device} only"
        if any(tensor.layout for tensor in call.tensors):
            return "a tensor of it is sparse"
        if rank not in group.ranks or max(group.ranks) >= len(calls):
            return f"the group of rank {rank} is not one of the {plural(len(calls), 'rank')}"
        if any(groups[other] != group for other in group.ranks):
            return f"the ranks in the group of rank {rank} name different groups"
    return ""


def captured_seconds(call: OperatorCall, waits: dict[int, float]) -> float | None:
    """Per call, until the collective was complete."""
    if not call.count:
        return None
    if call.device_seconds or call.awaited_seconds:
        return sum((call.device_seconds or call.awaited_seconds).values()) / call.count
    if call.index in waits:
        return sum(call.seconds.values()) / call.count + waits[call.index]
    return None


def waits_of(capture: Capture) -> dict[int, float]:
    """Functional collective → seconds per call in the waits for what it returned."""
    made: dict[int, int] = {}
    spent: defaultdict[int, float] = defaultdict(float)
    called: Counter[int] = Counter()
    for step in capture.order:
        call = capture.calls[step.call]
        if call.operator == WAIT:
            for place in step.reads:
                if place in made and call.count:
                    spent[made.pop(place)] += sum(call.seconds.values()) / call.count
        elif call.operator in REPLAYED:
            called[step.call] += 1
            made.update(dict.fromkeys(step.makes, step.call))
    return {index: seconds / called[index] for index, seconds in spent.items()}


def left_out(captures: Sequence[Capture]) -> dict[str, str]:
    """Operator that talks to other ranks, but is not replayed → why."""
    reasons = {}
    for call in (call for capture in captures for call in capture.calls):
        if call.operator in POINT_TO_POINT:
            reasons[call.qualified] = "a message between two ranks, which call different operators"
        elif call.collective and call.operator not in (*REPLAYED, *LOCAL):
            reasons[call.qualified] = "not one of the collectives that are replayed"
    return reasons
