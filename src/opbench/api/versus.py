"""`opbench.versus(naive, flash, inputs=qkv, n=[64, 512])`: functions against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opbench.api.run import Run, calling_file, execute_entries, uninterrupted
from opbench.define.bench import compared
from opbench.running.listener import Listener

Function = Callable[..., Any]


def versus(
    *functions: Function | Mapping[str, Function],
    inputs: Function | None = None,
    listener: Listener | None = None,
    **given: Any,
) -> Run:
    """Measure functions turn by turn, and compare the others with the first.

        def qkv(n): return [torch.randn(8, n, 64) for _ in range(3)]

        ob.versus(naive, flash, inputs=qkv, n=[128, 512], metrics=["time", "memory"])

    functions  as they are, or one dict of functions by name: so lambdas have one
    inputs     a function of the axes that makes the arguments, untimed
    n=[…]      axes, and the options of `opbench.bench`: axes, stages, output, group
    others     options of `opbench.run`: metrics, precision, device, store, save, …

    In a file that `opbench run` measures, the functions are registered instead.
    """
    entries, options = compared(*functions, inputs=inputs, **given)
    return uninterrupted(execute_entries(entries, options, file=calling_file(), listener=listener))
