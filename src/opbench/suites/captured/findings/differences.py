"""What differs between two captures: calls that came, went, or changed their number."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from opbench.capture.calls import Capture
from opbench.errors import plural
from opbench.report.table import Column, Table
from opbench.report.units import format_value

LISTED = 40


@dataclass(frozen=True)
class Difference:
    """One operator with one signature, per step."""

    operator: str
    signature: str
    before: float
    after: float
    #: Seconds per step while captured; 0 without timing.
    seconds_before: float = 0.0
    seconds_after: float = 0.0

    @property
    def gained(self) -> float:
        return self.seconds_after - self.seconds_before


def differences(base: Capture, new: Capture) -> list[Difference]:
    """Calls whose number per step differs, the largest change of time first."""
    here, there = totals(base), totals(new)
    found = []
    for key in {**here, **there}:
        before, after = here.get(key, (0.0, 0.0)), there.get(key, (0.0, 0.0))
        if before[0] != after[0]:
            found.append(Difference(*key, before[0], after[0], before[1], after[1]))
    return sorted(found, key=lambda d: (-abs(d.gained), -abs(d.after - d.before), d.operator))


def totals(capture: Capture) -> dict[tuple[str, str], tuple[float, float]]:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for call in capture.calls:
        entry = sums[call.qualified, call.signature()]
        entry[0] += call.count / capture.steps
        entry[1] += call.time / capture.steps
    return {key: (count, seconds) for key, (count, seconds) in sums.items()}


def table(found: list[Difference], base: Capture, new: Capture) -> Table:
    columns = (
        Column("operator", wrap="fold"),
        Column("arguments", wrap="fold"),
        *(Column(name, number=True) for name in (base.name, new.name, "captured time")),
    )
    rows = [
        (
            each.operator,
            each.signature[:80] + ("…" if len(each.signature) > 80 else ""),
            f"{each.before:g}",
            f"{each.after:g}",
            change(each.gained) if each.seconds_before or each.seconds_after else "",
        )
        for each in found[:LISTED]
    ]
    notes = [summary(base, new, found)]
    if len(found) > LISTED:
        notes.insert(0, f"… and {len(found) - LISTED} more")
    return Table(columns, rows, notes=notes)


def change(seconds: float) -> str:
    return ("+" if seconds >= 0 else "-") + format_value(abs(seconds), "s")


def summary(base: Capture, new: Capture, found: list[Difference]) -> str:
    counts = [sum(call.count for call in side.calls) / side.steps for side in (base, new)]
    text = f"{counts[0]:g} calls per step in {base.name}, {counts[1]:g} in {new.name}"
    steps = [float(side.header.get("step_seconds") or 0.0) for side in (base, new)]
    if all(steps):
        shown = [format_value(seconds, "s") for seconds in steps]
        text += f"; step {shown[0]}, {shown[1]}"
    return f"{text}; {plural(len(found), 'call')} differ." if found else f"{text}; the same calls."
