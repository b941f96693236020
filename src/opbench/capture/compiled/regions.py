"""Sees the regions of a program that torch compiled: each run of one is one call.

The compiled code calls kernels that no dispatcher sees, so the region is timed as a whole, where
Inductor's code is entered. What it computes is read from the graph that Inductor is given; a region
that was compiled before recording began has none.

While a compiled function runs, our hooks and the mode that names functions step aside: the compiler
would trace them, and compile the function again.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opbench.capture.compiled.graph import Graph, unknown_graph

#: An attribute of the compiled code: what we know of it.
REGION = "_opbench_region"
TOO_EARLY = "it was compiled before the recording began, so its graph is unknown"


@dataclass(eq=False)
class Region:
    """A piece of compiled code, in the place of an operator."""

    operator: str
    graph: Graph = field(default_factory=lambda: unknown_graph(TOO_EARLY))
    #: Positions of the inputs that it writes to.
    writes: tuple[int, ...] = ()


class CompiledRegions:
    """`around(region, inputs, run)` is called for each run; `step_aside` and `come_back` where a
    compiled function begins and ends."""

    def __init__(
        self,
        around: Callable[[Region, Any, Callable[[], Any]], Any],
        step_aside: Callable[[], None],
        come_back: Callable[[], None],
    ) -> None:
        self.around, self.step_aside, self.come_back = around, step_aside, come_back
        self._names: dict[str, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._inductor = self._dynamo = False
        #: The frame of the compiled function that is running, outermost.
        self._outermost = 0

    def watch(self) -> None:
        if hasattr(torch, "compile"):
            self._replace(torch, "compile", self._compile)
        self._look()

    def unwatch(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _compile(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        self._look()
        return made

    def _look(self) -> None:
        """Take our places in the compiler, as far as the program has imported it."""
        dynamo = sys.modules.get("torch._dynamo.eval_frame")
        if dynamo is not None and not self._dynamo:
            self._dynamo = True
            # Else it compiles our functions where a compiled one calls them, as in a backward pass.
            importlib.import_module("torch._dynamo.trace_rules").add("opbench.capture")
            if hasattr(dynamo, "_maybe_set_eval_frame"):
                self._replace(dynamo, "_maybe_set_eval_frame", self._frames)
        if dynamo is not None and not self._inductor:
            self._inductor = True
            self._watch_inductor()

    def _frames(self, original: Callable[..., Any], callback: Any) -> Any:
        """A compiled function sets its callback when it begins, and the one before when it ends;
        in between, others do so too. The outermost is known by its frame."""
        caller = id(sys._getframe(2))
        if not self._outermost and callable(callback):
            self._outermost = caller
            self.step_aside()
        elif self._outermost == caller:
            self._outermost = 0
            self.come_back()
        return original(callback)

    def _watch_inductor(self) -> None:
        try:
            compiler = importlib.import_module("torch._inductor.compile_fx")
            code = getattr(compiler, "CompiledFxGraph", None)
            if code is None:
                code = importlib.import_module("torch._inductor.output_code").CompiledFxGraph
        except (ImportError, AttributeError):  # a torch without a compiler
            return
        self._replace(code, "__call__", self._run)
        if hasattr(compiler, "_compile_fx_inner"):
            self._replace(compiler, "_compile_fx_inner", self._compile_graph)
        # From that cache comes code without its graph.
        config = importlib.import_module("torch._functorch.config")
        if getattr(config, "enable_autograd_cache", False):
            config.enable_autograd_cache = False  # type: ignore[attr-defined]
            self._undo.append(lambda: setattr(config, "enable_autograd_cache", True))

    def _compile_graph(
        self, original: Callable[..., Any], module: Any, *args: Any, **kw: Any
    ) -> Any:
        from opbench.capture.compiled.describing import graph_from, name_of_graph

        graph, writes = graph_from(module)
        region = Region(self._numbered(name_of_graph(module, bool(kw.get("is_backward")))), graph)
        region.writes = writes
        code = original(module, *args, **kw)
        try:
            setattr(code, REGION, region)
        except AttributeError:
            pass
        return code

    def _numbered(self, name: str) -> str:
        number = self._names[name] = self._names.get(name, -1) + 1
        return f"compiled::{name}_{number}"

    def _run(self, original: Callable[..., Any], code: Any, inputs: Any) -> Any:
        region = getattr(code, REGION, None)
        if region is None:
            backward = bool((getattr(code, "fx_kwargs", None) or {}).get("is_backward"))
            region = Region(self._numbered("backward" if backward else "forward"))
            setattr(code, REGION, region)
        return self.around(region, inputs, lambda: original(code, inputs))

    def _replace(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapped)
        self._undo.append(lambda: setattr(owner, name, original))
