"""The mode that sees every operator: forward, backward and optimizer, below autograd.

What it does per call must stay within microseconds: a tuple that tells this call from others, a
count, and the addresses it touched. Values are copied once per unique call, and described after the
window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from time import perf_counter, thread_time
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from opbench.capture.calls import COLLECTIVES
from opbench.capture.compiled.regions import Region
from opbench.capture.contents.regimes import STEERED, glance
from opbench.capture.describing import graph_begun, is_pinned
from opbench.capture.operators.device_clock import DeviceClock
from opbench.capture.operators.log import LoggedCall, OperatorLog
from opbench.capture.operators.phases import Phases
from opbench.capture.snapshots import SPARSE, take_snapshots
from opbench.capture.values import GroupSpec, TorchConstant

#: Floats that may choose another kernel (`x ** 2.0`, `x ** 0.5`) stay part of a signature; others,
#: such as the step size of an optimizer, which differs in every step, do not.
TELLING_FLOATS = frozenset({0.0, 0.5, 1.0, 2.0, 3.0, -0.5, -1.0, -2.0})
#: Where torch has its tensors without data: a compiler or a sharded model works out shapes in them.
FAKE = "torch._subclasses.fake_tensor"
FAKE_MODE = torch._C._TorchDispatchModeKey.FAKE

Tensor = torch.Tensor
graph_task = torch._C._current_graph_task_id
current_node = torch._C._current_autograd_node
sequence_number = torch.autograd._get_sequence_nr
fake_mode = torch._C._get_dispatch_mode


@dataclass(frozen=True)
class Facts:
    """What an operator's name says; asking torch for it takes longer than a small call."""

    func: Any
    #: It is in the registry of operators.
    registered: bool
    #: It marks a place for a profiler, and does no work.
    marker: bool
    steered: bool
    #: It talks to other ranks.
    collective: bool


#: Of a compiled region. What it does with the order of elements is not known here.
COMPILED = Facts(None, registered=False, marker=False, steered=False, collective=False)

#: By identity, which holds as long as the operator does.
_facts: dict[int, Facts] = {}


def facts(func: Any) -> Facts:
    found = _facts.get(id(func))
    if found is None:
        marker = getattr(func, "namespace", "") == "profiler"
        steered = str(getattr(func, "__name__", "")).partition(".")[0] in STEERED
        collective = getattr(func, "namespace", "") in COLLECTIVES
        registered = isinstance(func, torch._ops.OpOverload)
        found = _facts[id(func)] = Facts(func, registered, marker, steered, collective)
    return found


class OperatorMode(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(
        self,
        log: OperatorLog,
        phases: Phases,
        timing: bool | None = None,
        clock: DeviceClock | None = None,
    ) -> None:
        super().__init__()
        #: Knows which call the GPU works for; None where there is no GPU in use.
        self.clock = clock
        self.log = log
        self.phases = phases
        #: None: operators on the CPU only, as on other devices it means waiting for each of them.
        self.timing = timing
        self.active = True
        #: Whether collectives are waited for, as every call is that is timed.
        self.awaiting = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """A compiled function stays compiled while it is watched."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # The wrapper this would add imports the compiler, and costs microseconds in every call.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = facts(func)
        if not self.active or known.marker:
            return func(*args, **kwargs) if kwargs else func(*args)
        if types and any(hasattr(each, "__tensor_flatten__") for each in types):
            # A tensor made of others (jagged, sharded): its operators on those are the work.
            return NotImplemented
        if fake_mode(FAKE_MODE) or (types and any(each.__module__ == FAKE for each in types)):
            return func(*args, **kwargs) if kwargs else func(*args)
        if not known.registered:
            name = str(getattr(func, "__name__", func))
            self.log.skipped[name] = self.log.skipped.get(name, 0) + 1
            return func(*args, **(kwargs or {}))
        return self.note(func, args, kwargs or {}, known)

    def region(self, region: Region, inputs: Any, run: Callable[[], Any]) -> Any:
        """A run of compiled code: its kernels are its own business."""
        if not self.active:
            return run()
        with _disable_current_modes():
            return self.note(region, tuple(inputs), {}, COMPILED, run)

    def note(
        self,
        func: Any,
        args: Any,
        kwargs: dict[str, Any],
        known: Facts,
        run: Callable[[], Any] | None = None,
    ) -> Any:
        """Run the call, and note it."""
        if graph_begun():
            return run() if run else func(*args, **kwargs)
        entered, busy = perf_counter(), thread_time()
        tensors: list[Tensor] = []
        seen_args, seen_kwargs = args, kwargs
        if known.collective:
            seen_args, seen_kwargs = distributed().plain_arguments(func, args, kwargs)
        key: tuple[Any, ...] = (id(func), *[part(a, tensors) for a in seen_args])
        if kwargs:
            key = (*key, *[(name, part(value, tensors)) for name, value in seen_kwargs.items()])
        reads = tuple([address(tensor) for tensor in tensors])
        if len(reads) > 1 and len(set(reads)) < len(reads):
            key = (*key, sharing(tensors, reads))
        if known.steered:
            key = (*key, *[glance(tensor) for tensor in tensors])
        call = self.log.calls.get(key)
        fresh = call is None
        if call is None:
            seen = self.log.rehearsed.get(key)
            if seen is None and self.clock is not None:
                self.clock.push_own()
            ordered = known.steered or run is not None
            arguments = (
                seen.arguments if seen else take_snapshots(seen_args, seen_kwargs, reads, ordered)
            )
            call = LoggedCall(len(self.log.calls), func, arguments)
            self.log.calls[key] = call
            if seen is None and self.clock is not None:
                self.clock.pop()
        phases = self.phases
        phase = phases.now
        if phase == "backward" or graph_task() != -1:
            phase = "backward"
            module, api = behind(phases)
        else:
            module, api = phases.module, phases.api
            if phase == "forward":
                phases.module_of_node[sequence_number() - 1] = module
        timed = self.timing is not False and (self.timing or not tensors or tensors[0].is_cpu)
        if self.clock is not None:
            self.clock.push(call.index, phase)
        began = perf_counter()
        try:
            # `func(**{})` costs more than the question.
            result = run() if run else func(*args, **kwargs) if kwargs else func(*args)
        finally:
            if self.clock is not None:
                self.clock.pop()
        seconds = None
        if timed:
            if self.timing and torch.cuda.is_initialized():
                torch.cuda.synchronize()
            seconds = perf_counter() - began
            # A wait with a limit on a GPU would end the group when the limit is over.
            if known.collective and self.awaiting and all(tensor.is_cpu for tensor in tensors):
                self.wait_for(call, phase, result, began)
        outputs: tuple[int, ...] = ()
        if isinstance(result, Tensor):
            outputs = (address(result),)
        elif isinstance(result, (tuple, list)):
            outputs = tuple([address(each) for each in result if isinstance(each, Tensor)])
        if fresh:
            call.outputs = shapes(result)
        self.log.add((call, phase, module, api, seconds, reads, outputs))
        phases.handle(phase, perf_counter() - entered, thread_time() - busy)
        return result

    def wait_for(self, call: LoggedCall, phase: str, result: Any, began: float) -> None:
        """Wait until a collective is complete, as for every call that is timed."""
        work = distributed().work_of(call.func, result)
        if work is None:
            return
        self.awaiting = distributed().completed(work)
        call.awaited[phase] = call.awaited.get(phase, 0.0) + (perf_counter() - began)
        if not self.awaiting:
            self.log.forget_awaited()


@cache
def distributed() -> Any:
    """What records collectives; not every torch is built with what it imports."""
    from opbench.capture.operators import collectives as found

    return found


def behind(phases: Phases) -> tuple[str, str]:
    """The module whose forward created the autograd node that now goes backward, and the node."""
    node = current_node()
    if node is None:
        return "", ""
    return phases.module_of_node.get(node._sequence_nr(), ""), node.name()


def part(argument: Any, tensors: list[Tensor]) -> Any:
    """What of an argument tells two calls apart."""
    if isinstance(argument, Tensor):
        tensors.append(argument)
        if argument.is_nested:  # and has no one shape
            sizes = tuple(argument._nested_tensor_size().flatten().tolist())
            return ("nested", sizes, argument.dtype, argument.device)
        try:
            facts = (argument.shape, argument.stride(), argument.dtype, argument.device)
            return (*facts, "pinned") if is_pinned(argument) else facts
        except (RuntimeError, NotImplementedError):  # a sparse tensor has no strides
            nnz = argument._nnz() if argument.layout in SPARSE else 0
            return (argument.shape, argument.layout, nnz, argument.dtype, argument.device)
    kind = type(argument)
    if kind is int or kind is bool or argument is None or kind is str:
        return argument if kind is not bool else (kind, argument)
    if kind is float:
        return ("float", argument) if argument in TELLING_FLOATS else "float"
    if isinstance(argument, (list, tuple)):
        return tuple([part(each, tensors) for each in argument])
    if isinstance(argument, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return argument
    if isinstance(argument, (GroupSpec, TorchConstant)):
        return argument
    return kind.__name__


def address(tensor: Tensor) -> int:
    """Where its storage begins; 0 where that cannot be said."""
    try:
        if offset := tensor.storage_offset():
            return int(tensor.data_ptr() - offset * tensor.itemsize)
        return tensor.data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


def sharing(tensors: list[Tensor], reads: tuple[int, ...]) -> tuple[Any, ...]:
    """Which arguments lie in the same memory, and how far apart."""
    first: dict[int, int] = {}
    found = []
    for number, (tensor, place) in enumerate(zip(tensors, reads)):
        if place and place in first:
            other = tensors[first[place]]
            found.append((number, first[place], tensor.storage_offset() - other.storage_offset()))
        first.setdefault(place, number)
    return tuple(found)


def shapes(result: Any) -> list[tuple[torch.dtype, tuple[int, ...]]]:
    """Of the results; empty if one of them, sparse or nested, is not as large as its shape says."""
    made = list(tensors_of(result))
    if any(each.is_nested or each.layout is not torch.strided for each in made):
        return []
    return [(each.dtype, tuple(each.shape)) for each in made]


def tensors_of(result: Any) -> Iterator[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from tensors_of(each)
