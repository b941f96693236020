"""The calls worth attacking: what each costs the GPU, how fast it is, and how far from the peaks.

Bytes are those of the arguments and results, each once; operations are counted for products. What
a call reads again and again, or keeps in registers, is not seen: a share above 100 % of the
bandwidth means that the caches served it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from opbench.capture.calls import Capture, OperatorCall
from opbench.report.table import Column, Table
from opbench.report.units import format_percent, format_value
from opbench.suites.peaks.limits import Peaks

LISTED = 10

#: Operator → the places of its two factors among its tensors.
PRODUCTS = {
    "aten::mm": (0, 1), "aten::addmm": (-2, -1), "aten::bmm": (0, 1), "aten::baddbmm": (-2, -1),
}  # fmt: skip


@dataclass(frozen=True)
class CostlyCall:
    call: OperatorCall
    #: On the GPU: of one call, and of all of them in a step.
    seconds: float
    per_step: float
    #: Per second.
    bytes: float
    flops: float
    #: What the limits of the machine leave of its time; None where they are not known.
    of_peak: float | None = None


def costliest(capture: Capture, peaks: Peaks | None = None) -> list[CostlyCall]:
    """By the GPU's time, the longest first; empty where that was not recorded."""
    ranked = sorted(capture.calls, key=lambda call: -sum(call.device_seconds.values()))
    worked = [call for call in ranked[:LISTED] if any(call.device_seconds.values())]
    return [rated(call, capture.steps, peaks) for call in worked]


def rated(call: OperatorCall, steps: int, peaks: Peaks | None) -> CostlyCall:
    total = sum(call.device_seconds.values())
    seconds = total / call.count
    moved, worked = traffic(call), operations(call)
    least = None
    if peaks is not None and peaks.bandwidth:
        dtype = call.tensors[-1].dtype if call.tensors else ""
        arithmetic = worked / peaks.flops[dtype] if dtype in peaks.flops else 0.0
        least = max(moved / peaks.bandwidth, arithmetic) / seconds
    return CostlyCall(call, seconds, total / steps, moved / seconds, worked / seconds, least)


def traffic(call: OperatorCall) -> float:
    tensors = [tensor for tensor in call.tensors if tensor.alias is None]
    return float(sum(tensor.bytes for tensor in (*tensors, *call.outputs)))


def operations(call: OperatorCall) -> float:
    """Of a matrix product, two for each multiplication; zero where nobody counted them."""
    if call.operator not in PRODUCTS or not call.dense:
        return 0.0
    first, second = (call.tensors[place].shape for place in PRODUCTS[call.operator])
    return 2.0 * prod(first) * second[-1]


def costliest_table(rows: Sequence[CostlyCall], busy: float) -> Table:
    rated_calls = any(row.of_peak is not None for row in rows)
    numbers = ["calls", "each", "per step", "of busy", "GB/s", "TFLOP/s"]
    numbers += ["of peak"] if rated_calls else []
    columns = (
        Column("costliest calls", wrap="fold", min_width=24),
        *(Column(name, number=True, wrap="never") for name in numbers),
    )
    cells = []
    for row in rows:
        cell = [
            row.call.name,
            f"{row.call.count:g}",
            format_value(row.seconds, "s"),
            format_value(row.per_step, "s"),
            format_percent(row.per_step / busy) if busy else "",
            f"{row.bytes / 1e9:,.0f}",
            f"{row.flops / 1e12:,.3g}" if row.flops else "",
        ]
        if rated_calls:
            cell.append(format_percent(row.of_peak) if row.of_peak is not None else "")
        cells.append(cell)
    return Table(columns, cells)
