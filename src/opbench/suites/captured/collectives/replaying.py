"""One rank of a replay: creates its tensors and groups anew, and measures in step with the others.

Every rank does the same in the same order, and after every block all of them learn how long the
slowest took, or that one has failed. So they decide alike without a word: how many calls a block
has, how many blocks there are, whether to go on. No wait is without end: a rank that does not come
ends the others by the time limit of their process group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from opbench.capture.calls import OperatorCall
from opbench.capture.values import GroupSpec, Opaque, TensorSpec, TorchConstant, mapped
from opbench.define.program import ITEM_SIZE
from opbench.errors import printable
from opbench.machine.host import memory_now
from opbench.report.units import format_value
from opbench.suites.captured.collectives.blocks import Measured, planned
from opbench.suites.captured.collectives.matching import Collective
from opbench.suites.captured.operator_source import memory_sizes, owners_of

#: The first call of a group connects its ranks; some more fill caches and queues.
WARM_UP_CALLS = 5
#: Calls from which the length of one is learnt.
TRIAL_CALLS = 5
#: Ranks answer each other within the limit for a collective, and some of them after one that failed
#: only then.
CONTROL_FACTOR = 3
#: Of the free memory, for the tensors of one collective in all ranks: the backend needs some, too.
MEMORY_SHARE = 0.4
#: Bytes of a reason as the ranks exchange it.
LONGEST_REASON = 300


class Failed(RuntimeError):
    """Why a collective cannot be replayed; all ranks raise it together."""


def replay(
    collectives: Sequence[Collective],
    rank: int,
    local_rank: int,
    timeout: float,
    rendezvous: Mapping[str, Any],
) -> list[Measured]:
    """Measure all of them as this rank. `rendezvous` is for `init_process_group`."""
    groups = [call.group for each in collectives if not each.obstacle for call in each.calls]
    on_gpu = any(group and group.backend == "nccl" for group in groups)
    if on_gpu:
        if local_rank >= torch.cuda.device_count():
            count = torch.cuda.device_count()
            raise Failed(f"NCCL needs a GPU for each rank of a machine; this one has {count}")
        torch.cuda.set_device(local_rank)
    limit = timedelta(seconds=CONTROL_FACTOR * timeout)
    dist.init_process_group("gloo", timeout=limit, **rendezvous)
    device = f"cuda:{local_rank}" if on_gpu else "cpu"
    this = Rank(rank, device, timedelta(seconds=timeout))
    this.connect(group for group in groups if group is not None)
    try:
        return [
            Measured(reason=each.obstacle) if each.obstacle else this.measured(each)
            for each in collectives
        ]
    finally:
        this.groups.clear()
        dist.destroy_process_group()


class Rank:
    """This process among the others. Its default group carries what the ranks tell each other;
    collectives are replayed in groups of their own, which may break."""

    def __init__(self, rank: int, device: str, timeout: timedelta) -> None:
        self.rank, self.device, self.timeout = rank, device, timeout
        self.ranks = dist.get_world_size()
        self.groups: dict[GroupSpec, Any] = {}

    def connect(self, groups: Iterable[GroupSpec]) -> None:
        """Create the groups: every rank all of them, also those it is not in."""
        for group in dict.fromkeys(groups):
            self.groups[group] = dist.new_group(
                list(group.ranks), timeout=self.timeout, backend=group.backend
            )

    def measured(self, collective: Collective) -> Measured:
        problem, call = "", None
        try:
            call = self.prepared(collective.calls[self.rank])
        except Exception as error:
            problem = reason_of(error)
        try:
            if problem := self.agreed(problem):
                raise Failed(problem)
            assert call is not None
            self.block(call, WARM_UP_CALLS)
            calls, blocks = planned(self.block(call, TRIAL_CALLS))
            return Measured(tuple(self.block(call, calls) for _ in range(blocks)))
        except Failed as error:
            # A group in which one has waited in vain serves nobody any more.
            self.connect(call.group for call in collective.calls if call.group)
            return Measured(reason=str(error))

    def block(self, call: Callable[[], None], calls: int) -> float:
        """Seconds per call of the slowest rank."""
        problem = ""
        dist.barrier()
        began = perf_counter()
        try:
            for _ in range(calls):
                call()
            if self.device != "cpu":
                torch.cuda.synchronize()
            seconds = (perf_counter() - began) / calls
        except Exception as error:
            problem, seconds = reason_of(error), math.inf
        slowest = torch.tensor([seconds], dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        if math.isinf(slowest.item()):
            raise Failed(self.agreed(problem))
        return slowest.item()

    def agreed(self, problem: str) -> str:
        """The problem of the first rank that has one."""
        text = torch.zeros(LONGEST_REASON, dtype=torch.uint8)
        encoded = problem.encode()[:LONGEST_REASON]
        text[: len(encoded)] = torch.tensor(list(encoded), dtype=torch.uint8)
        texts = [torch.empty_like(text) for _ in range(self.ranks)]
        dist.all_gather(texts, text)
        found = (bytes(each.tolist()).rstrip(b"\0").decode(errors="replace") for each in texts)
        return next((problem for problem in found if problem), "")

    # -- one call --------------------------------------------------------------------------

    def prepared(self, call: OperatorCall) -> Callable[[], None]:
        """The call, to be made and waited for again and again.

        Its tensors hold zeros. What a collective takes does not depend on its values, and sums of
        zeros stay zeros, however often they are added up.
        """
        operator = operator_of(call)
        call = self.own_limit(call, operator)
        self.check_memory(call)
        tensors = iter(self.tensors(call.tensors))
        group = self.groups[call.group] if call.group else None
        functional = call.operator.partition("::")[0] != "c10d"

        def live(value: Any) -> Any:
            if isinstance(value, TensorSpec):
                return next(tensors)
            if isinstance(value, GroupSpec):
                return group.group_name if functional else group.boxed()  # type: ignore[union-attr]
            if isinstance(value, TorchConstant) and value.kind == "reduce_op":
                return boxed_reduction(value.name, self.ranks)
            if isinstance(value, (Opaque, TorchConstant)):
                raise Failed(f"unexpected argument {value}")
            return value

        args, kwargs = mapped(call.args, live), mapped(dict(call.kwargs), live)
        wait = wait_tensors if functional else wait_work
        return lambda: wait(operator(*args, **kwargs))

    def own_limit(self, call: OperatorCall, operator: Any) -> OperatorCall:
        """The call with the time limit of its group, whatever the file says."""
        names = [argument.name for argument in operator._schema.arguments]
        args = (-1 if name == "timeout" else value for name, value in zip(names, call.args))
        kwargs = {k: -1 if k == "timeout" else v for k, v in call.kwargs.items()}
        return replace(call, args=tuple(args), kwargs=kwargs)

    def check_memory(self, call: OperatorCall) -> None:
        """Memory that is promised and not there would have the kernel kill a process."""
        sizes = memory_sizes(call.tensors, owners := owners_of(call.tensors))
        needed = sum(sizes[each] * ITEM_SIZE[call.tensors[each].dtype] for each in set(owners))
        free = memory_now().get("memory_available")
        if free and self.device == "cpu" and needed * self.ranks > MEMORY_SHARE * free:
            raise Failed(
                f"its tensors need {format_value(needed, 'bytes')} in each of {self.ranks} ranks, "
                f"and {format_value(free, 'bytes')} are free"
            )

    def tensors(self, specs: Sequence[TensorSpec]) -> list[torch.Tensor]:
        """Tensors that lie in memory as the captured ones."""
        owners = owners_of(specs)
        memory = {}
        for owner, size in memory_sizes(specs, owners).items():
            # Zeros by name only (`torch.zeros`) would all be read from the same page.
            count = size * ITEM_SIZE[specs[owner].dtype]
            device = self.device_for(specs[owner].device)
            zeros = torch.full((count,), 0, dtype=torch.uint8, device=device)
            memory[owner] = zeros.view(getattr(torch, specs[owner].dtype))
        return [
            memory[owner].as_strided(spec.shape, spec.steps, spec.offset)
            for spec, owner in zip(specs, owners, strict=True)
        ]

    def device_for(self, recorded: str) -> str:
        return "cpu" if recorded.startswith("cpu") else self.device


def reason_of(error: Exception) -> str:
    """One line, in which nothing steers a terminal."""
    return printable(" ".join(str(error).split())) or type(error).__name__


def operator_of(call: OperatorCall) -> Any:
    """The operator in torch's registry: `matching` knows the few names there may be."""
    space, _, base = call.operator.partition("::")
    found = getattr(getattr(getattr(torch.ops, space), base, None), call.overload, None)
    if not isinstance(found, torch._ops.OpOverload):
        raise Failed(f"torch has no operator {call.qualified} here")
    return found


def wait_work(result: Any) -> None:
    dist.Work.unbox(result[-1] if isinstance(result, tuple) else result).wait()


def wait_tensors(result: Any) -> None:
    for tensor in result if isinstance(result, (list, tuple)) else (result,):
        torch.ops._c10d_functional.wait_tensor(tensor)


# -- reductions ------------------------------------------------------------------------------------


class Seen(Exception):
    """Carries the arguments of an operator out of a call that does not take place."""

    def __init__(self, args: Sequence[Any]) -> None:
        super().__init__("seen")
        self.args_of_operator = args


class SeeArguments(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the wrapper this would add imports the compiler

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise Seen(args)


def boxed_reduction(name: str, ranks: int) -> Any:
    """The reduction as the operators take it. torch creates these only within a call, so it is
    taken from one."""
    options = dist.AllreduceOptions()
    # The factor takes the same time, whatever it is; a mean is what it is used for. (Calling
    # `ReduceOp.PREMUL_SUM` makes the same since torch 2.12, and fails before.)
    factor = dist._make_nccl_premul_sum(1 / ranks)  # type: ignore[attr-defined]
    options.reduceOp = factor if name == "PREMUL_SUM" else getattr(dist.ReduceOp, name)
    tensor, group = torch.zeros(1), dist.group.WORLD
    assert group is not None
    try:
        with SeeArguments():
            group.allreduce([tensor], options)
    except Seen as seen:
        return seen.args_of_operator[2]
    raise Failed(f"torch does not call an operator for {name} here")
