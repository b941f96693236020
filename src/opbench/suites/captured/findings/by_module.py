"""The table that starts the work: which operators, in which modules, and what they could gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opbench.capture.calls import OperatorCall
from opbench.report.table import Column, Table
from opbench.report.units import format_interval, format_percent, format_value
from opbench.suites.captured.account import Replay, half_of
from opbench.suites.captured.findings.work import work_of

#: Rows shown; the rest is summed up.
LISTED = 15


@dataclass(frozen=True)
class ModuleRow:
    """The calls of one operator, per step, that one module was the first to make."""

    #: With the number of others that make the same calls.
    module: str
    operator: str
    count: float
    #: Seconds of the calls alone, each as often as it occurs.
    seconds: float
    #: Half of the interval of that.
    half: float = 0.0
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
    variances: dict[tuple[str, str], float] = defaultdict(float)
    for each in replay.calls:
        if each.mode == "hot" and not each.variant and each.result.ok:
            module = each.call.modules[0] if each.call.modules else "–"
            per_step = each.call.count / replay.capture.steps
            key = module, each.call.qualified
            groups[key].append((each.call, (each.result.estimate or 0.0) * per_step))
            variances[key] += (half_of(each.result) * per_step) ** 2
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
        half = variances[module, operator] ** 0.5
        named = module_text([call for call, _ in found])
        rows.append(ModuleRow(named, operator, count, total, half, flops, moved, share))
    return sorted(rows, key=lambda row: (-row.seconds, row.module, row.operator))


def module_text(calls: Sequence[OperatorCall]) -> str:
    """`encoder.0`, or `encoder.0 + 5 more` where the same calls were made by six modules."""
    names = dict.fromkeys(name for call in calls for name in call.modules)
    if not names:
        return "–"
    others = max(len(names), *(len(call.modules) + call.more_modules for call in calls)) - 1
    return next(iter(names)) + (f" + {others} more" if others else "")


def table(rows: list[ModuleRow], replay: Replay) -> Table:
    """At most `LISTED` rows; FLOPs and the limit only where there are some."""
    step = replay.step
    rates = any(row.flops or row.bytes for row in rows)
    limits = any(row.roofline is not None for row in rows)
    columns = [
        Column("module", wrap="fold"),
        Column("operator", wrap="fold"),
        *(Column(name, number=True) for name in ("calls", "alone", *["of step"] * bool(step))),
    ]
    if rates:
        columns += [Column("GFLOP/s", number=True), Column("GB/s", number=True)]
    if limits:
        columns += [Column("of limit", number=True), Column("step at limit", number=True)]
    cells = []
    for row in rows[:LISTED]:
        low, high = row.seconds - row.half, row.seconds + row.half
        alone = format_interval(row.seconds, low, high, "s")
        cell = [row.module, row.operator, f"{row.count:g}", alone]
        cell += [format_percent(row.seconds / step)] if step else []
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
