"""What replayed calls say of the step they were captured from.

Pure functions of a capture and of results: how much of the step the calls explain, phase by
phase; and for each operator the best of the variants that were measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from opbench.capture.call import Call, Capture
from opbench.case import Case, Label, label_text
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.suites.captured.definition import CAPTURED, IN_ORDER

#: Axes of a variant; what else is a label says at which point it was measured.
VARIANTS = ("runtime", "dtype", "layout", "threads", "device")
TIMES = ("time", "device_time", "host_time")

Variant = tuple[tuple[str, Label], ...]


@dataclass(frozen=True)
class OperatorRow:
    """All calls of one operator in a captured window."""

    operator: str
    unique: int
    #: Calls per step.
    count: float
    #: Seconds per step while it was captured; None when captured without timing.
    seconds: float | None
    phases: tuple[str, ...]
    apis: tuple[str, ...]
    #: Its most frequent call, as arguments.
    example: str


def operators(capture: Capture) -> list[OperatorRow]:
    """By time where it was captured with timing, by count otherwise."""
    groups: dict[str, list[Call]] = defaultdict(list)
    for call in capture.calls:
        groups[call.qualified].append(call)
    timed = any(call.seconds for call in capture.calls)
    rows = []
    for name, calls in groups.items():
        top = max(calls, key=lambda call: (call.time, call.count))
        phases = [p for p in capture.phases if any(p in call.counts for call in calls)]
        rows.append(
            OperatorRow(
                name,
                len(calls),
                sum(call.count for call in calls) / capture.steps,
                sum(call.time for call in calls) / capture.steps if timed else None,
                tuple(phases),
                tuple(dict.fromkeys(api for call in calls for api in call.apis)),
                top.signature(),
            )
        )
    return sorted(rows, key=lambda row: (-(row.seconds or 0.0), -row.count, row.operator))


@dataclass(frozen=True)
class Measured:
    """The result of one call, at the captured sizes, in one variant and one way of replay."""

    call: Call
    variant: Variant
    replay: str
    result: Result


@dataclass
class Replay:
    """A capture with all that was measured of it."""

    capture: Capture
    calls: list[Measured] = field(default_factory=list)
    #: Phase (or `step`) → result of the replay in order.
    in_order: dict[str, Result] = field(default_factory=dict)
    #: Sizes other than the captured ones → way of replay → (calls measured, Σ time × count).
    elsewhere: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Threads of the replay, where no axis says them.
    threads: set[int] = field(default_factory=set)


def replay_of(capture: Capture, results: Iterable[tuple[Case, Result]]) -> Replay:
    """Join by name; cases of other suites are nobody's business here."""
    named = {call.name: call for call in capture.calls}
    found = Replay(capture)
    for case, result in results:
        if case.suite != capture.name or result.metric not in TIMES:
            continue
        if "threads" not in case.axes:
            found.threads.add(case.threads)
        sizes = {a: case.axes[a] for a in capture.probes if a in case.axes}
        moved = {a: size for a, size in sizes.items() if size != capture.sizes.get(a)}
        if case.name == IN_ORDER:
            if not moved:
                found.in_order[str(case.axes.get("phase", "step"))] = result
            elif result.ok and case.axes.get("phase") == "step":
                note(found, sizes, "order", result.estimate or 0.0, 1)
            continue
        call = named.get(case.name)
        if call is None:
            continue
        replay = str(case.axes.get("replay", "hot"))
        variant = variant_of(case, capture)
        if moved:
            if result.ok and not variant:
                note(found, sizes, replay, result.estimate or 0.0, call.count / capture.steps)
        else:
            found.calls.append(Measured(call, variant, replay, result))
    return found


def note(
    found: Replay, sizes: Mapping[str, Label], replay: str, seconds: float, count: float
) -> None:
    text = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
    ways = found.elsewhere.setdefault(text, {})
    ways[replay] = ways.get(replay, 0.0) + seconds * count


def variant_of(case: Case, capture: Capture) -> Variant:
    """What of the case is not as it was captured."""
    home = str(capture.header.get("device") or "cpu").split(":")[0]
    as_captured = {
        "runtime": ("eager",),
        "dtype": (CAPTURED,),
        "layout": (CAPTURED,),
        "threads": (capture.threads,),
        "device": (home,),
    }
    return tuple(
        (axis, case.axes[axis])
        for axis in VARIANTS
        if axis in case.axes and case.axes[axis] not in as_captured[axis]
    )


def variant_text(variant: Variant) -> str:
    return " ".join(label_text(value) if axis in ("runtime", "dtype", "layout")
                    else f"{axis}={label_text(value)}" for axis, value in variant)  # fmt: skip


@dataclass(frozen=True)
class Share:
    """One phase: what its calls take when replayed, and what it took in the step."""

    phase: str
    replayed: float
    measured: float | None

    @property
    def ratio(self) -> float | None:
        return self.replayed / self.measured if self.measured else None


@dataclass(frozen=True)
class Fidelity:
    way: str
    shares: tuple[Share, ...]
    total: Share
    #: Calls per step, and how many of them could not be replayed: call → reason.
    calls: float
    missing: tuple[tuple[Call, str], ...] = ()
    #: Unique calls that were tried, and the share of the captured time that is theirs.
    tried: int = 0
    tried_share: float = 1.0
    #: Whether `measured` is the step while it was captured, for want of another.
    while_captured: bool = False

    @property
    def missing_calls(self) -> float:
        return sum(call.count for call, _ in self.missing)


def fidelity(replay: Replay, way: str = "hot") -> Fidelity | None:
    """Σ (time × count) against the step; None where that way was not measured."""
    capture = replay.capture
    phases = measured_phases(capture)
    if way == "order":
        return in_order_fidelity(replay, phases)
    here = [m for m in replay.calls if m.replay == way and not m.variant]
    if not here:
        return None
    sums: dict[str, float] = defaultdict(float)
    missing = []
    for one in here:
        if one.result.ok:
            for phase, count in one.call.counts.items():
                sums[phase] += (one.result.estimate or 0.0) * count / capture.steps
        else:
            missing.append((one.call, one.result.outcome_text))
    shares = tuple(Share(p, sums.get(p, 0.0), phases.get(p)) for p in capture.phases)
    return Fidelity(
        way,
        shares,
        Share("step", sum(sums.values()), step_seconds(capture)),
        sum(one.call.count for one in here),
        tuple(missing),
        tried=len(here),
        tried_share=share_of([one.call for one in here], capture.calls),
        while_captured=not capture.header.get("step_seconds"),
    )


def share_of(some: Sequence[Call], every: Sequence[Call]) -> float:
    """Of the captured time; of the calls, where it was captured without timing."""
    total = sum(call.time for call in every)
    if total:
        return sum(call.time for call in some) / total
    return sum(call.count for call in some) / max(1, sum(call.count for call in every))


def in_order_fidelity(replay: Replay, phases: Mapping[str, float]) -> Fidelity | None:
    ok = {p: r.estimate or 0.0 for p, r in replay.in_order.items() if r.ok}
    if not ok:
        return None
    capture = replay.capture
    shares = tuple(Share(p, ok[p], phases.get(p)) for p in capture.phases if p in ok)
    total = ok.get("step", sum(share.replayed for share in shares))
    blocked = tuple((c, c.obstacle) for c in capture.calls if c.obstacle)
    return Fidelity(
        "order",
        shares,
        Share("step", total, step_seconds(capture)),
        sum(call.count for call in capture.calls),
        blocked,
        tried=len(capture.calls),
        while_captured=not capture.header.get("step_seconds"),
    )


def measured_phases(capture: Capture) -> dict[str, float]:
    found = capture.header.get("phase_seconds") or {}
    return {str(phase): float(seconds) for phase, seconds in found.items()}


def step_seconds(capture: Capture) -> float | None:
    """The step as it ran on its own; while captured, where nothing else is known."""
    found = capture.header.get("step_seconds") or capture.header.get("captured_seconds")
    return float(found) if found else None


@dataclass(frozen=True)
class Best:
    """One operator: what it takes of the step, and the best that was measured for its calls."""

    operator: str
    count: float
    seconds: float
    share: float | None
    #: Seconds per step with the best variant of each of its calls.
    best_seconds: float
    #: The variant that saves most, as text; empty where what was captured is the best.
    variant: str
    #: Variants that gave another result, or none: variant → reason.
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def gain(self) -> float:
        return self.seconds / self.best_seconds if self.best_seconds else 1.0


@dataclass(frozen=True)
class Choice:
    rows: tuple[Best, ...]
    #: The step as it is, and with the best of each operator; what is unexplained stays.
    step: float
    best_step: float
    variants: tuple[str, ...]


def choose(replay: Replay, way: str = "hot") -> Choice | None:
    """The best variant of each call; None where there is only one."""
    capture = replay.capture
    by_call: dict[int, dict[Variant, Result]] = defaultdict(dict)
    calls = {}
    for one in replay.calls:
        if one.replay == way:
            by_call[one.call.index][one.variant] = one.result
            calls[one.call.index] = one.call
    variants = {variant for found in by_call.values() for variant in found if variant}
    if not variants:
        return None
    rows: dict[str, list[tuple[Call, float, float, Variant, dict[str, str]]]] = defaultdict(list)
    for index, found in by_call.items():
        base = found.get(())
        if base is None or not base.ok:
            continue
        count = calls[index].count / capture.steps
        now = (base.estimate or 0.0) * count
        best = now
        chosen: Variant = ()
        refused = {}
        for variant, result in found.items():
            if not result.ok:
                refused[variant_text(variant)] = result.outcome_text
            elif clearly_faster(result, base) and (result.estimate or 0.0) * count < best:
                best, chosen = (result.estimate or 0.0) * count, variant
        rows[calls[index].qualified].append((calls[index], now, best, chosen, refused))
    step = step_seconds(capture)
    made = [best_of(name, found, capture, step) for name, found in rows.items()]
    made.sort(key=lambda row: -row.seconds)
    now = sum(row.seconds for row in made)
    saved = sum(row.seconds - row.best_seconds for row in made)
    total = step if step is not None else now
    texts = tuple(sorted(variant_text(variant) for variant in variants))
    return Choice(tuple(made), total, max(total - saved, 0.0), texts)


def clearly_faster(result: Result, base: Result) -> bool:
    """The whole interval of their ratio is below 1: what noise gives, no change gives."""
    high = compare_results(base, result).high
    return high is not None and high < 1


def best_of(
    name: str,
    found: Sequence[tuple[Call, float, float, Variant, dict[str, str]]],
    capture: Capture,
    step: float | None,
) -> Best:
    now, best = sum(row[1] for row in found), sum(row[2] for row in found)
    saved: dict[Variant, float] = defaultdict(float)
    refused: dict[str, str] = {}
    for _, before, after, variant, reasons in found:
        if variant:
            saved[variant] += before - after
        refused.update(reasons)
    top = max(saved, key=lambda variant: saved[variant]) if saved else ()
    text = variant_text(top) + (" and others" if len(saved) > 1 else "")
    count = sum(row[0].count for row in found) / capture.steps
    share = now / step if step else None
    return Best(name, count, now, share, best, text, tuple(refused.items()))
