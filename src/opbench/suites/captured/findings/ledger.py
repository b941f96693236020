"""The time of a captured step, phase by phase: what of it was measured, and as what.

Nothing is given a cause that was not measured. Operators and compiled regions were replayed; what
could not be replayed is there with the time it took while it was captured; CPU time between calls
was measured in the captured step, less what recording itself costs there, and is no more than what
a plain step leaves for it; time in which the program did not run was measured in the steps that
were not captured. The rest is unattributed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from opbench.capture.calls import PHASES, Capture, OperatorCall
from opbench.suites.captured.account import Replay, left_out

#: The parts of a phase, as their columns are named.
PARTS = ("operators", "compiled", "refused", "collectives", "waiting", "Python")
#: A rest smaller than this share is what adding up leaves.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Entry:
    """One phase, or the whole step, in seconds."""

    phase: str
    measured: float | None
    parts: Mapping[str, float]

    @property
    def unattributed(self) -> float | None:
        if self.measured is None:
            return None
        rest = self.measured - sum(self.parts.values())
        return rest if abs(rest) > ROUNDING * self.measured else 0.0


@dataclass(frozen=True)
class Ledger:
    entries: tuple[Entry, ...]
    total: Entry
    #: Calls that were not replayed: call, seconds per step while captured, reason.
    refused: tuple[tuple[OperatorCall, float, str], ...]
    #: Share of the blocks during which something else ran.
    disturbed: float
    #: Phases whose sum is that of calls replayed one by one, as the phase as a whole failed.
    hot_phases: tuple[str, ...]


def ledger(replay: Replay) -> Ledger | None:
    """The account; None where not every call was tried, the step was not timed outside the capture,
    or a GPU's own time is set against it."""
    capture = replay.capture
    hot = {m.call.index: m for m in replay.calls if m.mode == "hot" and not m.variant}
    if len(hot) < len(capture.calls) or replay.while_captured or replay.on_device:
        return None
    refused = {index: each.result.outcome_text for index, each in hot.items() if not each.result.ok}
    measured = replay.phases
    between = numbers_of(capture, "between_seconds")
    idle = numbers_of(capture, "idle_seconds")
    # Files of earlier versions know what the program waited for a data loader, and no other wait.
    idle = idle or {"data": float(capture.header.get("waiting_seconds") or 0.0)}
    entries, hot_phases = [], []
    # A phase may have no call: a program that waits for its data loader, or clears gradients.
    for phase in [p for p in PHASES if p in capture.phases or measured.get(p)]:
        parts: dict[str, float] = defaultdict(float)
        alone_of: dict[int, float] = {}
        for index, each in hot.items():
            call = each.call
            count = call.counts.get(phase, 0) / capture.steps
            if index in refused:
                kind = "collectives" if call.collective else "refused"
                parts[kind] += call.seconds.get(phase, 0.0) / capture.steps
                continue
            seconds = (each.result.estimate or 0.0) * count
            alone_of[index] = seconds
            if call.compiled:
                parts["compiled"] += seconds
        in_order = replay.in_order.get(phase)
        if in_order is not None and in_order.ok:
            # What the replay in order had to leave out is known from its calls one by one.
            left = sum(alone_of.get(index, 0.0) for index in left_out(replay, phase))
            alone = (in_order.estimate or 0.0) + left
        else:
            alone = sum(alone_of.values())
            hot_phases += [phase] * (phase in capture.phases)
        parts["operators"] = max(alone - parts["compiled"], 0.0)
        parts["waiting"] = max(0.0, idle.get(phase, 0.0) - parts["collectives"])
        # Recording disturbs what lies between the calls of a small step more than can be
        # subtracted; no more can be Python than a plain step leaves.
        rest = measured.get(phase, 0.0) - sum(parts.values())
        parts["Python"] = min(between.get(phase, 0.0), max(0.0, rest))
        entries.append(Entry(phase, measured.get(phase), dict(parts)))
    whole = {part: sum(entry.parts.get(part, 0.0) for entry in entries) for part in PARTS}
    return Ledger(
        tuple(entries),
        Entry("step", replay.step, whole),
        tuple(
            (capture.calls[index], capture.calls[index].time / capture.steps, reason)
            for index, reason in refused.items()
        ),
        disturbed_share(replay),
        tuple(hot_phases),
    )


def numbers_of(capture: Capture, key: str) -> dict[str, float]:
    return {
        str(phase): float(seconds) for phase, seconds in (capture.header.get(key) or {}).items()
    }


def disturbed_share(replay: Replay) -> float:
    results = chain((each.result for each in replay.calls), replay.in_order.values())
    blocks = [sample.contended for result in results for sample in result.samples]
    return sum(blocks) / len(blocks) if blocks else 0.0
