"""Captures and their replay on the terminal: what a step consists of, and which variants help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from opbench.capture.calls import NOT_THE_MODEL
from opbench.errors import plural
from opbench.report.table import Column, Table, grid, plain_table
from opbench.report.units import format_percent, format_value
from opbench.suites.captured.account import (
    Fidelity,
    OperatorRow,
    Replay,
    Share,
    fidelity,
    operators,
    step_seconds,
)
from opbench.suites.captured.api.report import shortened
from opbench.suites.captured.costliest import costliest, costliest_table
from opbench.suites.captured.findings import by_module
from opbench.suites.captured.findings.ledger import PARTS, Entry, Ledger, ledger
from opbench.suites.captured.findings.notes import APART, notes, unit_of, why_longer
from opbench.suites.captured.findings.variants import Choice, choose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.capture.calls import Capture
    from opbench.suites.peaks.limits import Peaks

#: Mode of replay → its title.
MODES = {"hot": "hot", "cold": "cold cache", "order": "in order"}

#: Operators listed before the rest is summed up.
LISTED = 25
#: A GPU that is busy for this share of a step has no gaps worth closing.
DEVICE_BOUND = 0.9
#: Kernels that no operator launched are worth a line from this share of the GPU's time on.
WORTH_NAMING = 0.005
#: Calls that could not be replayed, named one by one.
NAMED = 8


def capture_parts(capture: Capture, everything: bool = False) -> list[RenderableType]:
    """A table of operators, by time when captured with timing, by count otherwise."""
    from rich.text import Text

    rows = operators(capture)
    total = sum(row.seconds or 0.0 for row in rows)
    shown = rows if everything else rows[:LISTED]
    parts: list[RenderableType] = [Text(about(capture)), grid(operator_table(shown, total))]
    if len(rows) > len(shown):
        left = rows[len(shown) :]
        share = sum(row.seconds or 0.0 for row in left) / total if total else 0.0
        parts.append(Text(f"… and {len(left)} more operators, {format_percent(share)} of the time"))
    for name, (count, reason) in capture.skipped.items():
        if reason != NOT_THE_MODEL:
            parts.append(Text(f"not recorded: {name}, {plural(count, 'call')}: {reason}"))
    return parts + [Text(line) for line in notes(capture)]


def about(capture: Capture) -> str:
    header = capture.header
    unit = "step" if unit_of(capture) == "step" else "model call"
    per_step = sum(call.count for call in capture.calls) // capture.steps
    words = [
        f"{capture.name}: {len(capture.calls)} unique calls, {per_step} per {unit}",
        f"torch {header.get('torch', '?')}, {capture.threads} threads, {header.get('device')}",
    ]
    if header.get("step_seconds"):
        words.append(f"{unit} {format_value(float(header['step_seconds']), 's')}")
    if capture.device_busy:
        words.append(f"GPU busy {format_value(capture.device_busy, 's')}")
    if header.get("captured_seconds"):
        words.append(f"while captured {format_value(float(header['captured_seconds']), 's')}")
    if capture.sizes:
        words.append(", ".join(f"{axis}={size}" for axis, size in capture.sizes.items()))
    return "; ".join(words)


def operator_table(rows: list[OperatorRow], total: float) -> Table:
    numbers = ("calls", "unique", *(("per step", "share") if total else ()))
    columns = (
        Column("operator", wrap="fold", min_width=24),
        *(Column(name, number=True, wrap="never", min_width=len(name)) for name in numbers),
        Column("phases"),
        Column("called by", wrap="fold"),
        Column("costliest call", wrap="fold"),
    )
    cells = []
    for row in rows:
        seconds = row.seconds or 0.0
        times = (format_value(seconds, "s"), format_percent(seconds / total)) if total else ()
        cells.append(
            (
                row.operator,
                f"{row.count:g}",
                str(row.unique),
                *times,
                ", ".join(row.phases),
                shortened(", ".join(row.apis[:2]), 32),
                shortened(row.example, 44),
            )
        )
    return Table(columns, cells)


def replay_parts(
    replay: Replay, peaks: Peaks | None = None, shares: Mapping[int, float] | None = None
) -> list[RenderableType]:
    """How much of the step is explained, by what; then, with variants, which of them help.

    `peaks`: the limits of the GPU. `shares`: call → share of the machine's limit it reached."""
    from rich.text import Text

    parts: list[RenderableType] = []
    explained = [each for each in (fidelity(replay, mode) for mode in MODES) if each is not None]
    if explained:
        parts.append(grid(fidelity_table(explained, replay)))
        account = ledger(replay)
        if account is not None:
            parts.append(grid(ledger_table(account)))
        parts += [Text(line) for line in remarks(explained, replay, account)]
    if explained and replay.on_device:
        worth = costliest(replay.capture, peaks)
        parts.append(grid(costliest_table(worth, replay.capture.device_busy)))
    elif explained:
        listed = by_module.table(by_module.rows_of(replay, shares), replay)
        parts += [grid(listed), *map(Text, listed.notes)] if listed.rows else []
    for mode in ("hot", "cold"):
        choice = choose(replay, mode)
        if choice is not None:
            parts += choice_parts(choice, mode)
    for sizes, sums in replay.predicted.items():
        texts = ", ".join(f"{MODES[mode]} {format_value(s, 's')}" for mode, s in sums.items())
        parts.append(Text(f"at {sizes}, predicted: Σ per step {texts}"))
    return parts


def fidelity_table(explained: list[Fidelity], replay: Replay) -> Table:
    measured = "step, captured" if explained[0].while_captured else "step"
    if replay.on_device:
        measured = "GPU busy"
    # A capture of a whole script has no time to set the replay against.
    timed = any(s.measured for each in explained for s in (*each.shares, each.total))
    header = ["phase", measured] if timed else ["phase"]
    for each in explained:
        header.append(f"Σ {MODES[each.mode]}")
        header += ["of busy" if replay.on_device else "of step"] if timed else []
    rows = []
    for phase in (*replay.capture.phases, "step"):
        shares = [
            next((s for s in (*each.shares, each.total) if s.phase == phase), None)
            for each in explained
        ]
        known = next((s.measured for s in shares if s is not None and s.measured), None)
        row = [phase, format_value(known, "s")] if timed else [phase]
        for share, each in zip(shares, explained):
            row.append(summed(share, each) if share else "")
            if timed:
                ratio = share.ratio if share else None
                row.append(f"{ratio:.2f}" if ratio is not None else "")
        rows.append(row)
    return replace(plain_table("", header, rows, words=1), total=True)


def summed(share: Share, explained: Fidelity) -> str:
    """The sum; with its interval where it is that of the whole step."""
    text = format_value(share.replayed, "s")
    if share.phase != "step" or not share.replayed or not explained.half:
        return text
    return f"{text} ±{explained.half / share.replayed:.0%}"


def ledger_table(account: Ledger) -> Table:
    """The account: what each phase's time was, as far as it was measured."""
    used = [part for part in PARTS if account.total.parts.get(part)]
    columns = (
        Column("phase"),
        *(Column(name, number=True) for name in ("step", *used, "unattributed", "")),
    )

    def row(entry: Entry) -> list[str]:
        rest = entry.unattributed
        share = f"{rest / entry.measured:.0%}" if rest is not None and entry.measured else ""
        texts = [format_value(entry.parts.get(part) or None, "s") for part in used]
        sign = "-" if rest is not None and rest < 0 else ""
        shown = sign + format_value(abs(rest), "s") if rest is not None else ""
        return [entry.phase, format_value(entry.measured, "s"), *texts, shown, share]

    return Table(columns, [row(e) for e in (*account.entries, account.total)], total=True)


#: What each part of the account is, where it appears.
MEANINGS = {
    "compiled": "compiled: regions of torch.compile, replayed",
    "refused": "refused: not replayed; their time while captured",
    "collectives": "collectives: not replayed (opbench collectives); until the call returned",
    "waiting": "waiting: the program did not run (data loader, other ranks, other programs)",
    "Python": "Python: CPU time between the calls, while captured, less what recording costs",
}
#: Above this share of blocks in which something else ran, a sum says little.
DISTURBED = 0.2
#: Of the step: what its parts may take beyond it before that is worth a word.
LONGER = 0.1


def remarks(explained: list[Fidelity], replay: Replay, account: Ledger | None) -> list[str]:
    best = explained[-1] if explained[-1].mode == "order" else explained[0]
    calls = next((each for each in explained if each.mode != "order"), best)
    every = len(replay.capture.calls)
    lines = []
    if calls.tried < every and calls.mode != "order":
        share = format_percent(calls.tried_share)
        lines.append(
            f"Only {calls.tried} of {plural(every, 'unique call')} {were(calls.tried)} tried, "
            f"{share} of the captured time: the rest of the step is not accounted for."
        )
    if account is not None:
        shown = [text for part, text in MEANINGS.items() if account.total.parts.get(part)]
        lines += [f"{'; '.join(shown)}."] if shown else []
        for phase in account.hot_phases:
            failed = replay.in_order.get(phase)
            if failed is not None:
                lines.append(
                    f"In order, {phase} failed: {failed.reason or failed.outcome}; its operators "
                    "are the sum of the calls one by one."
                )
        if account.disturbed > DISTURBED:
            lines.append(
                f"{format_percent(account.disturbed)} of the blocks were disturbed by other "
                "processes: measure again on a quiet machine."
            )
        lines += longer(account.total)
    lines += apart(calls, replay)
    if replay.on_device:
        lines += [busy(replay), *unrecorded(replay.capture)]
    if replay.threads - {replay.capture.threads}:
        lines.append(
            f"Captured with {replay.capture.threads} threads, replayed with "
            f"{', '.join(map(str, sorted(replay.threads)))}: the two cannot be compared."
        )
    if best.while_captured:
        lines.append(untimed(replay.capture))
    return lines + missing_lines(calls, every, account) + left_out_lines(best, calls)


def untimed(capture: Capture) -> str:
    """Why there is no time to compare the replay with, and how to get one."""
    unit = unit_of(capture)
    if unit == "call" and capture.header.get("window") == "auto":
        return (
            "The whole script was recorded, what sets its model up included; opbench capture "
            "--calls 2 records one call of the model, and times the others."
        )
    return (
        f"The {unit} was only timed while it was captured, which slows it down; let the script "
        f"run some {unit}s outside the window."
    )


def longer(total: Entry) -> list[str]:
    """What a negative rest means, which a reader may take for an error of the sum."""
    rest = total.unattributed
    if rest is None or not total.measured or rest > -LONGER * total.measured:
        return []
    return [
        f"Replayed, the parts take {format_value(-rest, 's')} longer than the step did: the "
        "machine was slower during the replay (other programs, or the host of a virtual one). "
        "Capture and measure again when it is quiet: opbench doctor."
    ]


def left_out_lines(best: Fidelity, calls: Fidelity) -> list[str]:
    """What runs alone, yet not in the replay in order."""
    known = {call.index for call, _ in calls.missing}
    left = [(call, why) for call, why in best.missing if call.index not in known]
    if not left:
        return []
    lines = [f"The replay in order cannot run {plural(len(left), 'call')}:"]
    lines += [f"  {call.name}: {why}" for call, why in left[:NAMED]]
    return lines + ([f"  … and {len(left) - NAMED} more"] if len(left) > NAMED else [])


def apart(calls: Fidelity, replay: Replay) -> list[str]:
    """Where captured and measured times of the same calls disagree, what the reason is."""
    if calls.mode == "order" or calls.tried == len(replay.capture.calls):
        return []
    captured = calls.tried_share * sum(c.time for c in replay.capture.calls) / replay.capture.steps
    if not captured or captured < APART * calls.total.replayed:
        return []
    per_step = calls.calls / replay.capture.steps
    why = why_longer(replay.capture, (captured - calls.total.replayed) / per_step)
    return [
        f"The calls chosen took {format_value(captured, 's')} of the captured step, but "
        f"{format_value(calls.total.replayed, 's')} replayed: {why}."
    ]


def missing_lines(calls: Fidelity, every: int, account: Ledger | None) -> list[str]:
    if calls.mode != "order" and not calls.missing:
        which = "unique call" if calls.tried == every else "tried unique call"
        every_one = "" if calls.tried == 1 else "All "
        return [f"{every_one}{plural(calls.tried, which)} {were(calls.tried)} replayed."]
    if not calls.missing:
        return []
    lost = f"{format_percent(calls.missing_calls / calls.calls)} of the calls"
    if account is not None and account.total.measured:
        seconds = sum(seconds for _, seconds, _ in account.refused)
        lost += f", {format_percent(seconds / account.total.measured)} of the step"
    lines = [f"Not replayed: {lost}."]
    named = sorted(calls.missing, key=lambda pair: -pair[0].time)
    for call, reason in named[:NAMED]:
        took = f", {format_value(call.time, 's')}" if call.time else ""
        lines.append(f"  {call.name}, {plural(call.count, 'call')}{took}: {reason}")
    if len(named) > NAMED:
        lines.append(f"  … and {len(named) - NAMED} more")
    return lines


def were(count: int) -> str:
    return "was" if count == 1 else "were"


def busy(replay: Replay) -> str:
    """What limits the step: the GPU, or the program that feeds it."""
    worked, step = replay.capture.device_busy, step_seconds(replay.capture)
    if not step or replay.capture.header.get("step_seconds") is None:
        return (
            f"The GPU worked for {format_value(worked, 's')} of the captured step; let the script "
            "run some steps outside the window to see how much of a step that is."
        )
    share = min(1.0, worked / step)
    if share >= DEVICE_BOUND:
        limit = "the GPU limits it: faster kernels, or fewer of them, make it faster"
    else:
        limit = "the host limits it: Python, autograd and launches leave the GPU waiting"
    return (
        f"Of a step of {format_value(step, 's')} the GPU is busy for {format_value(worked, 's')} "
        f"({format_percent(share)}) and idle for {format_value(max(0.0, step - worked), 's')}; "
        f"{limit}."
    )


def unrecorded(capture: Capture) -> list[str]:
    """What the GPU ran that is not replayed, as no operator of the step launched it."""
    share = capture.device_unrecorded / capture.device_busy
    if share < WORTH_NAMING:
        return []
    return [
        f"Not replayed: kernels that no operator launched (a CUDA graph, a kernel of your own), "
        f"{format_value(capture.device_unrecorded, 's')} or {format_percent(share)} of what the "
        f"GPU did; `opbench show {capture.name}.jsonl` names them."
    ]


def choice_table(choice: Choice) -> Table:
    columns = (
        Column("operator", wrap="fold", min_width=20),
        *(Column(name, number=True) for name in ("calls", "per step", "share of step")),
        Column("best"),
        *(Column(name, number=True) for name in ("with it", "gain")),
    )
    rows = [
        (
            row.operator,
            f"{row.count:g}",
            format_value(row.seconds, "s"),
            format_percent(row.share) if row.share is not None else "",
            row.variant or "as captured",
            format_value(row.best_seconds, "s") if row.variant else "",
            f"{row.gain:.2f}×" if row.variant else "",
        )
        for row in choice.rows[:LISTED]
    ]
    return Table(columns, rows)


def choice_parts(choice: Choice, mode: str) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = [grid(choice_table(choice))]
    if len(choice.rows) > LISTED:
        parts.append(Text(f"… and {len(choice.rows) - LISTED} more operators"))
    gain = choice.step / choice.best_step if choice.best_step else 1.0
    parts.append(
        Text(
            f"With the best of each ({MODES[mode]}; tried: {', '.join(choice.variants)}): step "
            f"{format_value(choice.best_step, 's')} instead of {format_value(choice.step, 's')}, "
            f"{gain:.2f}×. Each gain is that of a call on its own; converting between dtypes or "
            "runtimes is not counted."
        )
    )
    mismatches = {
        (row.operator, variant): reason
        for row in choice.rows
        for variant, reason in row.refused
        if reason.startswith("mismatch")
    }
    for (operator, variant), reason in list(mismatches.items())[:NAMED]:
        parts.append(Text(f"not taken: {operator} {variant}: {reason}"))
    return parts
