"""Where in a training step the program is: its phase, its module, its Python function.

A step goes data → forward → backward → optimizer. The first call of a module begins the forward
phase, which ends where a backward pass begins; what happens between that and the end of the
optimizer's step (clipping gradients, say) counts as the optimizer's; everything else is data. Where
a step before had another forward after that backward pass, its gradients are accumulated, and what
comes next is data.
"""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter, thread_time
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from opbench.capture.describing import graph_begun


@dataclass(frozen=True)
class Seen:
    """What one step took, by phase: seconds, and how many of them its thread ran; the same of what
    was recorded; the number of calls, and of functions with a name; phases in which other threads
    took part; seconds of waiting for a data loader."""

    seconds: Mapping[str, float]
    busy: Mapping[str, float]
    handled: Mapping[str, float]
    handled_busy: Mapping[str, float]
    calls: Mapping[str, int]
    functions: Mapping[str, int]
    elsewhere: frozenset[str]
    waiting: float

    def idle(self, phase: str) -> float:
        """Seconds in which the thread of the program did not run."""
        if phase in self.elsewhere:
            return self.waiting if phase == "data" else 0.0
        return max(0.0, self.seconds.get(phase, 0.0) - self.busy.get(phase, 0.0))


#: Of one call, or of one function that was named: its phase, which of the two, seconds, those in
#: which the thread ran, and whether that was the thread of the program.
Spent = tuple[str, bool, float, float, bool]
#: Signs that a thread is the one that trains: it calls a module, an optimizer steps in it.
CALL, STEP = 0, 2
#: A program whose step never ends must not fill the memory.
MOST_UNSUMMED = 10_000


@dataclass
class Sums:
    """By phase: calls, functions, and what they took with their recording."""

    calls: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)


class Phases:
    """Watches modules, backward passes and optimizers through torch's global hooks."""

    def __init__(
        self,
        step_ended: Callable[[], None],
        call_ended: Callable[[], None],
        turned: Callable[[], None] | None = None,
        call_begins: Callable[[torch.nn.Module | None], bool] = lambda _module: True,
    ) -> None:
        self.now = "data"
        #: The Python function that is running, outermost; empty outside of any.
        self.api = ""
        #: Sequence number of an autograd node → the module whose forward created it.
        self.module_of_node: dict[int, str] = {}
        #: Phase → seconds, and those in which the thread of the program ran.
        self.seconds: dict[str, float] = {}
        self.busy: dict[str, float] = {}
        #: Phases in which other threads took part (autograd has one for each GPU).
        self.elsewhere: set[str] = set()
        #: What was recorded, until somebody asks for the sums.
        self._spent: list[Spent] = []
        self._sums = Sums()
        #: Seconds in which the program waited for the workers of a data loader.
        self.waiting = 0.0
        self._since, self._busy_since = perf_counter(), thread_time()
        self._thread = get_ident()
        #: Name of the innermost module that is running, and the names around it.
        self.module = ""
        self._path: list[str] = []
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._backward = 0
        #: Backward passes of this step so far; of each, by its number, whether a module was called
        #: next and no optimizer stepped; and whether that is yet to be seen of the last.
        self._passes = 0
        self._goes_on: dict[int, bool] = {}
        self._open_end = False
        #: The optimizer whose steps are counted: the first that stepped.
        self._first: Callable[[], Any] | None = None
        #: When the running, or the last, call of a top module began.
        self.call_began = 0.0
        self._step_ended, self._call_ended, self._turned = step_ended, call_ended, turned
        #: Told of the top module that is called; whether the call belongs to what is recorded.
        self._call_begins = call_begins
        #: Steps of an optimizer that were captured in a CUDA graph.
        self.graphed = 0
        #: The thread that is followed (without `turned`, always the one that began), the one that
        #: began, and how well the first is known to be the one that trains.
        self._followed = self._home = get_ident()
        self._known = -1
        self._undo: list[Callable[[], Any]] = []
        self._module_hooks: list[Any] = []
        #: Whether our hooks are taken away while compiled code runs, and whether that is the model.
        self._aside = self._compiled_call = False

    def enter(self, phase: str) -> None:
        """Enter a phase; the time since the last change belongs to the one that ends."""
        moment, busy, thread = perf_counter(), thread_time(), get_ident()
        self.seconds[self.now] = self.seconds.get(self.now, 0.0) + moment - self._since
        if thread == self._thread:
            self.busy[self.now] = self.busy.get(self.now, 0.0) + busy - self._busy_since
        else:
            self.elsewhere |= {self.now, phase}
        self.now, self._since, self._busy_since, self._thread = phase, moment, busy, thread

    def restart(self) -> None:
        """A new step begins now."""
        self.seconds, self.busy, self.elsewhere, self.waiting = {}, {}, set(), 0.0
        self._spent, self._sums = [], Sums()
        self._passes, self._open_end = 0, False
        self.leave_out()
        self.module_of_node.clear()

    def leave_out(self) -> None:
        """The time since the last change belongs to no phase."""
        self._since, self._busy_since = perf_counter(), thread_time()
        self._thread = get_ident()

    def handle(self, phase: str, seconds: float, busy: float) -> None:
        """A call was recorded: what it and its recording took. (Called in every call: the sums are
        made later.)"""
        self._spent.append((phase, True, seconds, busy, get_ident() == self._thread))
        if len(self._spent) >= MOST_UNSUMMED:
            self._sum_up()

    def name(self, phase: str, seconds: float) -> None:
        """The name of a function was looked up; most of them lead to no call."""
        self._spent.append((phase, False, seconds, seconds, get_ident() == self._thread))
        if len(self._spent) >= MOST_UNSUMMED:
            self._sum_up()

    def _sum_up(self) -> None:
        spent, self._spent = self._spent, []
        sums = self._sums
        for phase, call, seconds, busy, here in spent:
            number = sums.calls if call else sums.functions
            number[phase] = number.get(phase, 0) + 1
            sums.seconds[phase] = sums.seconds.get(phase, 0.0) + seconds
            sums.busy[phase] = sums.busy.get(phase, 0.0) + busy
            if not here:
                self.elsewhere.add(phase)

    def seen(self) -> Seen:
        """Of the step that ends now."""
        self._sum_up()
        sums = self._sums
        return Seen(
            dict(self.seconds), dict(self.busy), dict(sums.seconds), dict(sums.busy),
            dict(sums.calls), dict(sums.functions), frozenset(self.elsewhere), self.waiting,
        )  # fmt: skip

    # -- threads ---------------------------------------------------------------------------

    def _follows(self, sign: int | None = None) -> bool:
        """Whether what this thread does belongs to the recorded program. `sign`: that it is the one
        that trains, CALL or STEP; better ones, and those of the thread that began, outweigh."""
        if graph_begun():
            self.graphed += sign == STEP
            return False
        thread = get_ident()
        if sign is not None:
            sign += thread == self._home
        if thread != self._followed and not self._works_for_autograd(thread):
            if self._turned is None or sign is None or sign <= self._known:
                return False
            self._followed = thread
            self._path, self.module, self._backward, self._first = [], "", 0, None
            self.now = "data"
            self.restart()
            self._turned()
        if sign is not None:
            self._known = max(self._known, sign)
        return True

    def _works_for_autograd(self, thread: int) -> bool:
        """Autograd has a thread for each GPU, which recomputes modules under checkpointing."""
        return self._backward > 0 and thread not in [each.ident for each in threading.enumerate()]

    # -- hooks -----------------------------------------------------------------------------

    def watch(self) -> None:
        # A hook that fires once more for a compiled module changes nothing here.
        warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global")
        self._watch_modules()
        handles = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        self._undo += [handle.remove for handle in handles]
        self._wrap(torch.autograd, "backward", self._around_backward)
        self._wrap(torch.autograd, "grad", self._around_backward)
        self._wrap(Optimizer, "zero_grad", self._around_zero_grad)
        self._wrap(torch.inference_mode, "__exit__", self._around_leaving_inference)
        if hasattr(_MultiProcessingDataLoaderIter, "_next_data"):
            self._wrap(_MultiProcessingDataLoaderIter, "_next_data", self._around_waiting)

    def _watch_modules(self) -> None:
        self._module_hooks = [
            modules.register_module_forward_pre_hook(self._enter_module),
            modules.register_module_forward_hook(self._leave_module, always_call=True),
        ]

    def _unwatch_modules(self) -> None:
        while self._module_hooks:
            self._module_hooks.pop().remove()

    def step_aside(self) -> None:
        """A compiled function begins. A model that is called compiled calls no hook, so this is
        where its forward begins."""
        if not self._path and not self._backward and self.now == "data" and not graph_begun():
            self._next_is(module=True)
            self._call_begins(None)
            self.enter("forward")
            self.call_began = perf_counter()
            self._compiled_call = True
        self._aside = bool(self._module_hooks)
        self._unwatch_modules()

    def come_back(self) -> None:
        if self._aside:
            self._watch_modules()
        self._aside = False
        if self._compiled_call:
            self._compiled_call = False
            self._call_over()

    def unwatch(self) -> None:
        self._unwatch_modules()
        self._aside = False
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapped)

        def restore() -> None:
            if getattr(owner, name) is wrapped:
                setattr(owner, name, original)

        self._undo.append(restore)

    def _enter_module(self, module: torch.nn.Module, _inputs: Any) -> None:
        if torch.compiler.is_compiling() or not self._follows(CALL):
            return
        if not self._path:
            if module not in self._names:
                for name, child in module.named_modules():
                    self._names[child] = name or type(module).__name__
            if not self._backward:
                self._next_is(module=True)
                recorded = self._call_begins(module)
                self.enter("forward" if recorded else self.now)
            self.call_began = perf_counter()
        self.module = self._names.get(module) or type(module).__name__
        self._path.append(self.module)

    def _leave_module(self, _module: torch.nn.Module, _inputs: Any, _output: Any) -> None:
        if torch.compiler.is_compiling() or not self._follows():
            return
        if self._path:
            self._path.pop()
        self.module = self._path[-1] if self._path else ""
        if not self._path and not self._backward:
            self._call_over()

    def _call_over(self) -> None:
        self._call_ended()
        if not torch.is_grad_enabled():  # inference: no loss will follow
            self.enter("data")

    def _around_backward(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self._follows():
            return original(*args, **kwargs)
        if not self._backward:
            self._passes += 1
            self.enter("backward")
        self._backward += 1
        path, self._path = self._path, []
        module, self.module = self.module, ""
        try:
            return original(*args, **kwargs)
        finally:
            self._path, self.module = path, module
            self._backward -= 1
            if not self._backward:
                self._open_end = not path
                after = "data" if self._goes_on.get(self._passes) else "optimizer"
                # Inside a module's forward a gradient is part of that forward.
                self.enter("forward" if path else after)

    def _next_is(self, *, module: bool) -> None:
        """What comes after a backward pass: a module is called, or an optimizer steps."""
        if self._open_end:
            self._goes_on[self._passes] = module
            self._open_end = False

    def _around_zero_grad(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self._follows():
            return original(*args, **kwargs)
        before = self.now
        self.enter("optimizer")
        try:
            return original(*args, **kwargs)
        finally:
            self.enter(before)

    def _around_leaving_inference(self, original: Callable[..., Any], *args: Any) -> Any:
        """The dispatcher looks for modes again where it did at the beginning, although one may have
        come or gone since."""
        try:
            return original(*args)
        finally:
            modes = torch._C._len_torch_dispatch_stack() > 0
            for key in (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot):
                torch._C._dispatch_tls_set_dispatch_key_included(key, modes)

    def _around_waiting(self, original: Callable[..., Any], *args: Any) -> Any:
        if not self._follows():
            return original(*args)
        began = perf_counter()
        try:
            return original(*args)
        finally:
            self.waiting += perf_counter() - began

    def _before_step(self, _optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if self._follows():
            self._next_is(module=False)
            self.enter("optimizer")

    def _after_step(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not self._follows(STEP):
            return
        self.enter("data")
        if self._first is None or self._first() is None:
            self._first = weakref.ref(optimizer)
        if self._first() is optimizer:
            self._step_ended()
