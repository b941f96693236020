"""Where in a training step the program is: its phase, its module, its Python function.

A step goes data → forward → backward → optimizer. The first call of a module begins the forward
phase, which ends where a backward pass begins; what happens between that and the end of the
optimizer's step (clipping gradients, say) counts as the optimizer's; everything else is data.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


class Phases:
    """Watches modules, backward passes and optimizers through torch's global hooks."""

    def __init__(self, step_ended: Callable[[], None], call_ended: Callable[[], None]) -> None:
        self.now = "data"
        #: The Python function that is running, outermost; empty outside of any.
        self.api = ""
        #: Sequence number of an autograd node → the module whose forward created it.
        self.module_of_node: dict[int, str] = {}
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()
        self._path: list[str] = []
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._backward = 0
        #: The optimizer whose steps are counted: the first that stepped.
        self._first: Callable[[], Any] | None = None
        #: When the running, or the last, call of a top module began.
        self.call_began = 0.0
        self._step_ended, self._call_ended = step_ended, call_ended
        self._undo: list[Callable[[], Any]] = []

    @property
    def module(self) -> str:
        return self._path[-1] if self._path else ""

    def enter(self, phase: str) -> None:
        """Enter a phase; the time since the last change belongs to the one that ends."""
        moment = perf_counter()
        self.seconds[self.now] = self.seconds.get(self.now, 0.0) + moment - self._since
        self.now, self._since = phase, moment

    def restart(self) -> None:
        """A new step begins now."""
        self.seconds = {}
        self._since = perf_counter()
        self.module_of_node.clear()

    # -- hooks -----------------------------------------------------------------------------

    def watch(self) -> None:
        handles = [
            modules.register_module_forward_pre_hook(self._enter_module),
            modules.register_module_forward_hook(self._leave_module, always_call=True),
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        self._undo += [handle.remove for handle in handles]
        self._wrap(torch.autograd, "backward", self._around_backward)
        self._wrap(torch.autograd, "grad", self._around_backward)
        self._wrap(Optimizer, "zero_grad", self._around_zero_grad)

    def unwatch(self) -> None:
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
        if not self._path:
            if module not in self._names:
                for name, child in module.named_modules():
                    self._names[child] = name or type(module).__name__
            if not self._backward and self.now != "forward":
                self.enter("forward")
            self.call_began = perf_counter()
        self._path.append(self._names.get(module) or type(module).__name__)

    def _leave_module(self, _module: torch.nn.Module, _inputs: Any, _output: Any) -> None:
        if self._path:
            self._path.pop()
        if not self._path and not self._backward:
            self._call_ended()
            if not torch.is_grad_enabled():  # inference: no loss will follow
                self.enter("data")

    def _around_backward(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self._backward:
            self.enter("backward")
        self._backward += 1
        path, self._path = self._path, []
        try:
            return original(*args, **kwargs)
        finally:
            self._path = path
            self._backward -= 1
            if not self._backward:
                # Inside a module's forward a gradient is part of that forward.
                self.enter("forward" if path else "optimizer")

    def _around_zero_grad(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        before = self.now
        self.enter("optimizer")
        try:
            return original(*args, **kwargs)
        finally:
            self.enter(before)

    def _before_step(self, _optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        self.enter("optimizer")

    def _after_step(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        self.enter("data")
        if self._first is None or self._first() is None:
            self._first = weakref.ref(optimizer)
        if self._first() is optimizer:
            self._step_ended()
