"""Collectives while they are recorded: their group and reduction as plain values, and their end.

A collective is handed its process group, or the group's name, and its reduction as objects of
torch's own. It returns before the other ranks have taken part; its `Work` knows when they have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from opbench.capture.calls import POINT_TO_POINT
from opbench.capture.describing import type_name
from opbench.capture.values import GroupSpec, Opaque, TorchConstant

#: Name → process group; torch has no public way to it.
resolve: Any = dist.distributed_c10d._resolve_process_group

#: Ranks may call collectives of different groups in different order, and would then wait for each
#: other for ever: past this, no collective of the recording is waited for any more.
LONGEST_WAIT = timedelta(seconds=5)
#: Frames of these lie between an operator and the Python function that called it.
BETWEEN = ("opbench.capture.", "torch._compile", "torch._dynamo", "torch.utils._python_dispatch")

#: What the functions of torch.distributed call a collective with that reduces.
REDUCING: Any = (
    dist.AllreduceOptions, dist.distributed_c10d.AllreduceCoalescedOptions, dist.ReduceOptions,
    dist.ReduceScatterOptions,
)  # fmt: skip

PROCESS_GROUP, REDUCE_OP, WORK = (
    f"__torch__.torch.classes.c10d.{name}" for name in ("ProcessGroup", "ReduceOp", "Work")
)


def plain_arguments(func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments with values in place of the process group and the reduction."""
    names = [argument.name for argument in func._schema.arguments]
    device = next((tensor.device for tensor in tensors_in([*args, *kwargs.values()])), None)

    def plain(name: str, value: Any) -> Any:
        kind = str(value._type()) if isinstance(value, torch.ScriptObject) else ""
        if kind == REDUCE_OP:
            return reduction()
        if kind == PROCESS_GROUP:
            return group_spec(dist.ProcessGroup.unbox(value), device)
        if isinstance(value, dist.ProcessGroup):
            return group_spec(value, device)
        if name == "group_name" and isinstance(value, str):
            return group_spec(resolve(value), device)
        return value

    return (
        tuple(plain(name, value) for name, value in zip(names, args)),
        {name: plain(name, value) for name, value in kwargs.items()},
    )


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)


def group_spec(group: Any, device: torch.device | None) -> GroupSpec | Opaque:
    try:
        ranks = tuple(dist.get_process_group_ranks(group))
        backend = group._get_backend(device or torch.device("cpu")).name()
    except (KeyError, RuntimeError):  # not one of `new_group`, or of another device
        return Opaque(type_name(group))
    return GroupSpec(ranks, str(backend))


def reduction() -> TorchConstant:
    """The reduction of the collective that is being called.

    torch does not show what is inside the object that the operator is given. The functions of
    torch.distributed have it in their options; without them the caller is C++: the reducer of
    `DistributedDataParallel`, which sums.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(BETWEEN):
        frame = frame.f_back
    options = (value for value in frame.f_locals.values() if isinstance(value, REDUCING))
    found = next(options, None)
    return TorchConstant("reduce_op", found.reduceOp.op.name if found else "SUM")


def work_of(func: Any, result: Any) -> Any:
    """What can be waited for until a collective is complete; None where that is another call.

    The two sides of a message are no collective: each may have to go on before the other comes.
    """
    if func._schema.name in POINT_TO_POINT:
        return None
    last = result[-1] if isinstance(result, tuple) and result else result
    if not isinstance(last, torch.ScriptObject) or str(last._type()) != WORK:
        return None
    return dist.Work.unbox(last)


def completed(work: Any) -> bool:
    """Wait for it; False where it failed, which the program itself will see, or took too long."""
    try:
        return bool(work.wait(LONGEST_WAIT))
    except RuntimeError:
        return False
