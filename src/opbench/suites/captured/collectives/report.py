"""The collectives of a step as a table: what each took while captured, and what it takes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opbench.errors import plural
from opbench.report.table import Cell, Column, Table
from opbench.report.units import MISSING, format_interval, format_value
from opbench.stats.estimate import Estimate, estimate
from opbench.suites.captured.collectives.matching import Collective

#: With fewer starts, an interval rests on what starts do elsewhere.
FEW_STARTS = 3


@dataclass(frozen=True)
class Replayed:
    """A collective with its time alone, or the reason why there is none."""

    collective: Collective
    alone: Estimate | None
    reason: str = ""


def replayed(
    collectives: Sequence[Collective], starts: Sequence[Sequence[Mapping[str, Any]]]
) -> list[Replayed]:
    """`starts`: of each start, what it measured of each collective."""
    found = []
    for number, collective in enumerate(collectives):
        measured = [start[number] for start in starts]
        reason = collective.obstacle or next((m["reason"] for m in measured if m["reason"]), "")
        placed = [(s, 0, value) for s, each in enumerate(measured) for value in each["blocks"]]
        found.append(Replayed(collective, None if reason else estimate(placed), reason))
    return found


def table(found: Sequence[Replayed], left_out: Mapping[str, str], get_more: str) -> Table:
    """`get_more`: what to do for more starts of the ranks."""
    columns = (
        Column("collective"),
        *(
            Column(name, number=True, wrap="never")
            for name in ("ranks", "size", "per step", "captured", "alone", "bandwidth")
        ),
    )
    return Table(columns, [row(each) for each in found], notes=notes(found, left_out, get_more))


def row(each: Replayed) -> tuple[Cell | str, ...]:
    collective, alone = each.collective, each.alone
    size = collective.bytes
    return (
        collective.name,
        str(collective.group_size or MISSING),
        format_value(size, "bytes") if size else MISSING,
        f"{collective.per_step:g}",
        format_value(collective.captured, "s"),
        format_interval(alone.value, alone.low, alone.high, "s") if alone else Cell("refused"),
        f"{format_value(size / alone.value, 'bytes')}/s" if alone and size else MISSING,
    )


def notes(found: Sequence[Replayed], left_out: Mapping[str, str], get_more: str) -> list[str]:
    lines = [
        "captured: until the collective was complete, mean of the ranks; alone: the slowest rank, "
        "replayed; bandwidth: size / time alone.",
        *sums(found),
    ]
    starts = min((each.alone.starts for each in found if each.alone), default=FEW_STARTS)
    if starts < FEW_STARTS:
        count = "a single start" if starts == 1 else f"{starts} starts"
        lines.append(
            f"The intervals rest on {count} of the ranks, too few to show how much starts differ, "
            f"so they are wide; {get_more}."
        )
    refused = {each.collective.name: each.reason for each in found if each.reason} | dict(left_out)
    return [*lines, *(f"{name}: not replayed: {reason}" for name, reason in refused.items())]


def sums(found: Sequence[Replayed]) -> list[str]:
    """What the collectives of a step take together, as far as both times are known."""
    both = [
        (each.collective.per_step, each.collective.captured, each.alone.value)
        for each in found
        if each.alone is not None and each.collective.captured is not None
    ]
    if not both:
        return []
    captured = sum(count * seconds for count, seconds, _ in both)
    alone = sum(count * seconds for count, _, seconds in both)
    count = sum(count for count, _, _ in both)
    text = (
        f"Per step: {plural(round(count), 'collective')}, {format_value(captured, 's')} while "
        f"captured, {format_value(alone, 's')} alone"
    )
    waited = captured - alone
    if waited <= 0 or len(found[0].collective.calls) == 1:
        return [f"{text}."]
    return [
        f"{text}: for {format_value(waited, 's')} the ranks waited for each other, or for a core."
    ]
