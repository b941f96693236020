"""Definitions made with PyTorch's own `core.api`, as ours.

A file of `benchmarks/instruction_counts/definitions` imports `GroupedStmts` and the others from
the folder it lies in, so what it defines are objects of those classes. They are recognised by the
name of their class and by their fields; nothing of them is called.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from .args import TimerArgs
from .grouped import GroupedBenchmark, GroupedSetup, source

GROUPED = (
    "py_fwd_stmt", "cpp_fwd_stmt", "py_model_setup", "cpp_model_setup", "inferred_model_setup",
    "setup", "signature_args", "signature_output", "torchscript", "autograd", "num_threads",
)  # fmt: skip
TIMER_ARGS = ("stmt", "setup", "global_setup", "num_threads", "language")


def is_theirs(value: Any) -> bool:
    return _is(value, ("GroupedBenchmark",), GROUPED) or _is(
        value, ("TimerArgs", "WorkerTimerArgs"), TIMER_ARGS
    )


def as_ours(value: Any) -> Union[GroupedBenchmark, TimerArgs]:
    if _is(value, ("TimerArgs", "WorkerTimerArgs"), TIMER_ARGS):
        return TimerArgs(**{name: getattr(value, name) for name in TIMER_ARGS})
    theirs = {name: getattr(value, name) for name in GROUPED}
    setup = theirs["setup"]
    theirs["setup"] = GroupedSetup(setup.py_setup, setup.cpp_setup, setup.global_setup)
    for name in ("py_fwd_stmt", "cpp_fwd_stmt", "py_model_setup", "cpp_model_setup"):
        theirs[name] = source(name, theirs[name])
    if not theirs["inferred_model_setup"]:
        # They call a model in both languages, also where only one defines it.
        for language in ("py", "cpp"):
            if theirs[f"{language}_model_setup"] is None:
                theirs[f"{language}_fwd_stmt"] = None
    theirs["signature_args"] = _names(theirs["signature_args"])
    theirs["num_threads"] = tuple(theirs["num_threads"])
    return GroupedBenchmark(**theirs)


def _names(args: Any) -> Optional[tuple[str, ...]]:
    """Without types: `f(x: Tensor)` keeps `x: Tensor`."""
    if args is None:
        return None
    return tuple(arg.partition(":")[0].strip() for arg in args if arg.strip())


def _is(value: Any, classes: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return type(value).__name__ in classes and all(hasattr(value, name) for name in names)
