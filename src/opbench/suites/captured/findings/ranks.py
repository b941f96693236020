"""Several captures side by side, those of the ranks of one program above all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from opbench.capture.calls import Capture, OperatorCall
from opbench.capture.values import TensorSpec, tensors_in
from opbench.define.program import ITEM_SIZE
from opbench.report.table import Column, Table
from opbench.report.units import format_value
from opbench.suites.captured.findings.differences import differences
from opbench.suites.captured.findings.ledger import numbers_of

#: Their tensor names a device, or was moved by another call.
EMPTY = ("c10d::barrier", "c10d::monitored_barrier_", "_c10d_functional::wait_tensor")


def table(captures: Sequence[Capture]) -> Table:
    """A row for each, per step: its time, its phases, what it waited, its collectives."""
    phases = list(dict.fromkeys(phase for each in captures for phase in each.phases))
    rows = [row(each, phases) for each in captures]
    headings = ("calls", "step", *phases, "waiting", "collectives", "their time")
    columns = (
        Column("capture", wrap="fold"),
        *(Column(name, number=True, wrap="never") for name in headings),
    )
    return Table(columns, rows, notes=notes(captures))


def row(capture: Capture, phases: Sequence[str]) -> tuple[str, ...]:
    header = capture.header
    calls = sum(call.count for call in capture.calls) / capture.steps
    step = header.get("step_seconds") or header.get("captured_seconds")
    took, idle = numbers_of(capture, "phase_seconds"), numbers_of(capture, "idle_seconds")
    collectives = [call for call in capture.calls if call.collective]
    moved = sum(call.count * message_bytes(call) for call in collectives) / capture.steps
    spent = sum(call.time for call in collectives) / capture.steps
    return (
        capture.name,
        f"{calls:g}",
        seconds(float(step)) if step else "",
        *(seconds(took.get(phase)) for phase in phases),
        seconds(sum(idle.values())) if idle else "",
        format_value(moved, "bytes") if collectives else "–",
        seconds(spent) if collectives else "–",
    )


def message_bytes(call: OperatorCall) -> int:
    """What a collective is about: the larger of what it gives and what it takes, of all ranks."""
    if call.operator in EMPTY:
        return 0
    sides = [*call.given.values, list(call.outputs)]
    return max(sum(held(tensor) for tensor in tensors_in(side)) for side in sides)


def held(tensor: TensorSpec) -> int:
    return prod(tensor.shape) * ITEM_SIZE[tensor.dtype]


def seconds(value: float | None) -> str:
    return "" if value is None else format_value(value, "s")


def notes(captures: Sequence[Capture]) -> list[str]:
    lines = [
        "waiting: the program did not run, in the steps that were not captured; collectives: bytes "
        "per step, and the time until the calls returned, while captured."
    ]
    apart = [pair for pair in pairwise(captures) if differences(*pair)]
    if not apart:
        return [*lines, "All make the same calls."]
    first, second = apart[0]
    return [
        *lines,
        f"{first.name} and {second.name} make different calls; `opbench compare` of their files "
        "lists them.",
    ]
