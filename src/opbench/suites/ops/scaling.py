"""Sizes reduced, visibly, where memory or time does not suffice.

A size is halved in its leading dimension until it fits; the case then carries a label such as
`scaled=1/4 (memory)`. A smaller machine thus measures another case, under another name, which
is never compared with the full one by mistake.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from opbench.machine.gpu import gpu_facts
from opbench.suites.ops.entry import Operator, Values
from opbench.suites.ops.programs import held, work

#: A case may hold this share of the memory that is free: several live side by side.
MEMORY_SHARE = 0.25
#: A backward pass keeps what forward made, and makes a gradient of each; reductions and
#: convolutions need room to work in besides.
COPIES = {False: 2.0, True: 4.0}
#: Backward is about twice the work of forward.
PASSES = {False: 1.0, True: 3.0}

#: A low estimate for one thread of a CPU, and for a GPU: enough to tell a second from a minute.
FLOPS_PER_SECOND = {"cpu": 1.5e10, "cuda": 5e12}
#: One call must not take longer: at least a handful fit in the time of a case.
SECONDS = 5.0
#: Memory assumed of a GPU whose driver does not say: that of the smaller ones.
GPU_BYTES = 16 * 2**30

SMALLEST = 1024


def fitted(
    operator: Operator,
    values: Values,
    *,
    device: str,
    threads: int,
    backward: bool,
    kept: Collection[str] = (),
) -> tuple[Values, str]:
    """The values, halved until they fit, and the label for it: `1/4 (memory)`, or empty. Shapes in
    `kept` stay as they are."""
    factor, reason = 1, ""
    while factor < SMALLEST:
        why = obstacle(operator, values, device=device, threads=threads, backward=backward)
        if not why:
            break
        smaller = halved(operator, values, kept)
        if smaller is None:
            break
        values, factor, reason = smaller, factor * 2, why
    return values, f"1/{factor} ({reason})" if factor > 1 else ""


def obstacle(
    operator: Operator,
    values: Values,
    *,
    device: str,
    threads: int,
    backward: bool,
    share: float = MEMORY_SHARE,
) -> str:
    """`memory` where it takes more than that share of what is free, `time`, or empty."""
    kind = "cuda" if device.startswith("cuda") else "cpu"
    if needed(operator, values, backward) > room(kind) * share:
        return "memory"
    amount = work(operator, values)
    rate = FLOPS_PER_SECOND[kind] * (threads if kind == "cpu" else 1)
    if amount is not None and amount.flops * PASSES[backward] / rate > SECONDS:
        return "time"
    return ""


def room(kind: str) -> float:
    """Bytes for all that runs on such a device."""
    return (free_gpu_memory() or GPU_BYTES) if kind == "cuda" else free_memory()


def needed(operator: Operator, values: Values, backward: bool) -> float:
    """Bytes that a call takes: inputs, weights among them, the result, and room to work in."""
    return held(operator, values) * COPIES[backward]


def shortage(operator: Operator, values: Values, device: str, backward: bool) -> str:
    """Why it cannot run: how much memory it needs, and how much there is. Empty where it can."""
    kind = "cuda" if device.startswith("cuda") else "cpu"
    takes, free = needed(operator, values, backward), room(kind)
    if takes <= free:
        return ""
    known = kind == "cpu" or free_gpu_memory()
    assumed = "is free" if known else "is what is assumed of a GPU"
    return (
        f"{operator.name} at these parameters needs {gibibytes(takes)} of memory; "
        f"{gibibytes(free)} {assumed}"
    )


def gibibytes(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size < 2**40 else f"{size / 2**40:,.0f} TiB"


def halved(operator: Operator, values: Values, kept: Collection[str] = ()) -> Values | None:
    """Half as many of what comes first: samples, rows. None where nothing can be halved."""
    given = vars(values)
    shapes = {
        name: value
        for name, value in given.items()
        if isinstance(value, tuple) and value and name in {*names(operator), *operator.shrinks}
    }
    if not operator.shrinks and shapes:
        leading = next(iter(shapes.values()))[0]
        shapes = {name: shape for name, shape in shapes.items() if shape[0] == leading}
    else:
        shapes = {name: shape for name, shape in shapes.items() if name in operator.shrinks}
    if not shapes or any(shape[0] < 2 or name in kept for name, shape in shapes.items()):
        return None
    smaller = {name: (shape[0] // 2, *shape[1:]) for name, shape in shapes.items()}
    return SimpleNamespace(**{**given, **smaller})


def names(operator: Operator) -> tuple[str, ...]:
    return (*(each.name for each in operator.inputs), "shape")


@cache
def free_gpu_memory() -> float:
    """Bytes free now on the fullest GPU, whichever of them a case will run on; 0 if unknown."""
    gpus = gpu_facts()["gpus"]
    free = [(gpu["memory"] or 0) - (gpu["memory_used"] or 0) for gpu in gpus]
    return float(min(free, default=0))


@cache
def free_memory() -> float:
    """Bytes available now; 64 GiB where the system does not report it."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return 64.0 * 2**30
