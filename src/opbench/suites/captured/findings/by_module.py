"""The table that starts the work: which operators, in which modules, and what they could gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from opbench.capture.calls import OperatorCall
from opbench.report.table import Column, Table
from opbench.report.units import format_percent, format_value
from opbench.suites.captured.account import Replay
from opbench.suites.captured.findings.work import work_of

#: Rows shown; the rest is summed up.
LISTED = 15


@dataclass(frozen=True)
class ModuleRow:
    """The calls of one operator in one module, per step."""

    module: str
    operator: str
    count: float
    #: Seconds of the calls alone, each as often as it occurs.
    seconds: float
    flops: float = 0.0
    bytes: float = 0.0
    #: Share of the machine's limit, by time; None where its limits are unknown.
    roofline: float | None = None

    def step_at_limit(self, step: float) -> float | None:
        """The step, if these calls reached the limit of the machine and all else stayed."""
        if self.roofline is None or not 0 < self.roofline < 1:
            return None
        return step - self.seconds * (1 - self.roofline)


def rows_of(replay: Replay, shares: Mapping[int, float] | None = None) -> list[ModuleRow]:
    """Costliest first. `shares`: call → share of the machine's limit that it reached."""
    groups: dict[tuple[str, str], list[tuple[OperatorCall, float]]] = defaultdict(list)
    for each in replay.calls:
        if each.mode == "hot" and not each.variant and each.result.ok:
            module = each.call.modules[0] if each.call.modules else "–"
            seconds = (each.result.estimate or 0.0) * each.call.count / replay.capture.steps
            groups[module, each.call.qualified].append((each.call, seconds))
    rows = []
    for (module, operator), found in groups.items():
        flops = moved = 0.0
        for call, _ in found:
            work = work_of(call)
            if work is not None:
                flops += work.flops * call.count / replay.capture.steps
                moved += work.bytes * call.count / replay.capture.steps
        total = sum(seconds for _, seconds in found)
        known = [(s, shares[c.index]) for c, s in found if shares and c.index in shares]
        # Time at the limit over time: only where all of it is known.
        share = None
        if total and len(known) == len(found):
            share = sum(seconds * reached for seconds, reached in known) / total
        count = sum(call.count for call, _ in found) / replay.capture.steps
        rows.append(ModuleRow(module, operator, count, total, flops, moved, share))
    return sorted(rows, key=lambda row: (-row.seconds, row.module, row.operator))


def table(rows: list[ModuleRow], replay: Replay) -> Table:
    """At most `LISTED` rows; FLOPs and the limit only where there are some."""
    step = replay.step
    rates = any(row.flops or row.bytes for row in rows)
    limits = any(row.roofline is not None for row in rows)
    columns = [
        Column("module", wrap="fold"),
        Column("operator", wrap="fold"),
        *(Column(name, number=True) for name in ("calls", "alone", "of step")),
    ]
    if rates:
        columns += [Column("GFLOP/s", number=True), Column("GB/s", number=True)]
    if limits:
        columns += [Column("of limit", number=True), Column("step at limit", number=True)]
    cells = []
    for row in rows[:LISTED]:
        cell = [row.module, row.operator, f"{row.count:g}", format_value(row.seconds, "s")]
        cell.append(format_percent(row.seconds / step) if step else "")
        if rates:
            cell += [rate(row.flops, row.seconds), rate(row.bytes, row.seconds)]
        if limits:
            at = row.step_at_limit(step) if step else None
            cell.append(format_percent(row.roofline) if row.roofline is not None else "")
            cell.append(format_value(at, "s") if at is not None else "")
        cells.append(cell)
    rest = rows[LISTED:]
    notes = []
    if rest:
        seconds = format_value(sum(row.seconds for row in rest), "s")
        notes.append(f"… and {len(rest)} more, {seconds}")
    if rates and not limits:
        notes.append("The limits of this machine are unknown: opbench peaks measures them.")
    return Table(columns, cells, notes=notes)


def rate(amount: float, seconds: float) -> str:
    return f"{amount / seconds / 1e9:.3g}" if amount and seconds else ""
