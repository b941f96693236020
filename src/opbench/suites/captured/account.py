"""What replayed calls say about the step they were captured from, phase by phase.

Pure functions of a capture and of results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from opbench.capture.calls import Capture, OperatorCall
from opbench.case import Case, Label, label_text
from opbench.result import Result
from opbench.suites.captured.definition import CAPTURED, IN_ORDER

#: What is set against the step, best first: on a GPU, its own time.
TIMES = ("device_time", "time", "host_time")

#: The axes of a case that are not as captured.
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
    groups: dict[str, list[OperatorCall]] = defaultdict(list)
    for call in capture.calls:
        groups[call.qualified].append(call)
    timed = any(call.time for call in capture.calls)
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
    """The result of one call, at the captured sizes, in one variant and one mode of replay."""

    call: OperatorCall
    variant: Variant
    mode: str  # hot, cold
    result: Result


@dataclass
class Replay:
    """A capture with all that was measured of it."""

    capture: Capture
    calls: list[Measured] = field(default_factory=list)
    #: Phase (or `step`) → result of the replay in order.
    in_order: dict[str, Result] = field(default_factory=dict)
    #: Sizes other than the captured ones → mode of replay → Σ time × count.
    predicted: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Threads of the replay, where no axis says them.
    threads: set[int] = field(default_factory=set)
    #: The metric that is set against the step: the first of `TIMES` that was measured.
    metric: str = "time"

    @property
    def on_device(self) -> bool:
        """Whether the GPU's time in the replay is set against the GPU's time in the step."""
        return self.metric == "device_time" and self.capture.device_busy > 0

    @property
    def step(self) -> float | None:
        """Seconds of the step, of the same kind as those of the replay."""
        return self.capture.device_busy if self.on_device else step_seconds(self.capture)

    @property
    def phases(self) -> dict[str, float]:
        """The same of each phase."""
        by_phase = self.capture.header.get("device_phases" if self.on_device else "phase_seconds")
        return {str(phase): float(seconds) for phase, seconds in (by_phase or {}).items()}

    @property
    def while_captured(self) -> bool:
        """Whether the step was only timed while it was captured. The GPU takes as long as ever."""
        return not self.on_device and not self.capture.header.get("step_seconds")

    def add_predicted(self, sizes: Mapping[str, Label], mode: str, seconds: float) -> None:
        modes = self.predicted.setdefault(", ".join(f"{a}={size}" for a, size in sizes.items()), {})
        modes[mode] = modes.get(mode, 0.0) + seconds


def replay_of(capture: Capture, results: Iterable[tuple[Case, Result]]) -> Replay:
    """Join by name; cases of other suites are left out."""
    named = {call.name: call for call in capture.calls}
    results = [each for each in results if each[0].suite == capture.name]
    measured = {result.metric for _, result in results}
    replay = Replay(capture, metric=next((m for m in TIMES if m in measured), "time"))
    for case, result in results:
        if result.metric != replay.metric:
            continue
        if "threads" not in case.axes:
            replay.threads.add(case.threads)
        sizes = {a: case.axes[a] for a in capture.probes if a in case.axes}
        moved = {a: size for a, size in sizes.items() if size != capture.sizes.get(a)}
        if case.name == IN_ORDER:
            if not moved:
                replay.in_order[str(case.axes.get("phase", "step"))] = result
            elif result.ok and case.axes.get("phase") == "step":
                replay.add_predicted(sizes, "order", result.estimate or 0.0)
            continue
        call = named.get(case.name)
        if call is None:
            continue
        mode = str(case.axes.get("replay", "hot"))
        variant = variant_of(case, capture)
        if not moved:
            replay.calls.append(Measured(call, variant, mode, result))
        elif result.ok and not variant:
            seconds = (result.estimate or 0.0) * call.count / capture.steps
            replay.add_predicted(sizes, mode, seconds)
    return replay


def variant_of(case: Case, capture: Capture) -> Variant:
    """What of the case is not as it was captured."""
    as_captured = {
        "runtime": "compile" if case.name.startswith("compiled.") else "eager",
        "dtype": CAPTURED,
        "layout": CAPTURED,
        "threads": capture.threads,
        "device": capture.device.split(":")[0],
    }
    return tuple(
        (axis, case.axes[axis])
        for axis, usual in as_captured.items()
        if axis in case.axes and case.axes[axis] != usual
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
    """How much of the step is explained by its calls, replayed in one mode."""

    mode: str
    shares: tuple[Share, ...]
    total: Share
    #: Calls per step, and how many of them could not be replayed: call → reason.
    calls: float
    missing: tuple[tuple[OperatorCall, str], ...] = ()
    #: Half of the interval of the sum, in seconds.
    half: float = 0.0
    #: Unique calls that were tried, and the share of the captured time that is theirs.
    tried: int = 0
    tried_share: float = 1.0
    #: Whether `measured` is the step while it was captured, for want of another.
    while_captured: bool = False

    @property
    def missing_calls(self) -> float:
        return sum(call.count for call, _ in self.missing)

    @property
    def missing_seconds(self) -> float:
        """While they were captured, in the whole window."""
        return sum(call.time for call, _ in self.missing)


def fidelity(replay: Replay, mode: str = "hot") -> Fidelity | None:
    """Σ (time × count) against the step; None where that mode was not measured."""
    if mode == "order":
        return in_order_fidelity(replay)
    capture = replay.capture
    measured = [m for m in replay.calls if m.mode == mode and not m.variant]
    if not measured:
        return None
    sums: dict[str, float] = defaultdict(float)
    missing, variance = [], 0.0
    for each in measured:
        if each.result.ok:
            variance += (half_of(each.result) * each.call.count / capture.steps) ** 2
            for phase, count in each.call.counts.items():
                sums[phase] += (each.result.estimate or 0.0) * count / capture.steps
        else:
            missing.append((each.call, each.result.outcome_text))
    phases = replay.phases
    return Fidelity(
        mode,
        tuple(Share(p, sums.get(p, 0.0), phases.get(p)) for p in capture.phases),
        Share("step", sum(sums.values()), replay.step),
        sum(each.call.count for each in measured),
        tuple(missing),
        half=variance**0.5,
        tried=len(measured),
        tried_share=share_of([each.call for each in measured], capture.calls),
        while_captured=replay.while_captured,
    )


def left_out(replay: Replay, phase: str) -> dict[int, str]:
    """Calls that the replay in order went on without, by their index, with the reason."""
    result = replay.in_order.get(phase)
    named = (result.detail.get("left_out") if result is not None and result.ok else None) or {}
    indices = {str(call.index): call.index for call in replay.capture.calls}
    return {indices[index]: str(why) for index, why in named.items() if index in indices}


def half_of(result: Result) -> float:
    """Half of the interval of one call, in seconds."""
    return (result.half_width or 0.0) * abs(result.estimate or 0.0)


def share_of(some: Sequence[OperatorCall], every: Sequence[OperatorCall]) -> float:
    """Of the captured time; of the calls, where it was captured without timing."""
    total = sum(call.time for call in every)
    if total:
        return sum(call.time for call in some) / total
    return sum(call.count for call in some) / max(1, sum(call.count for call in every))


def in_order_fidelity(replay: Replay) -> Fidelity | None:
    ok = {p: r.estimate or 0.0 for p, r in replay.in_order.items() if r.ok}
    if not ok:
        return None
    capture, phases = replay.capture, replay.phases
    shares = tuple(Share(p, ok[p], phases.get(p)) for p in capture.phases if p in ok)
    missing = {call.index: call.obstacle for call in capture.calls if call.obstacle}
    for phase in ok:
        missing.update(left_out(replay, phase))
    total = ok.get("step", sum(share.replayed for share in shares))
    return Fidelity(
        "order",
        shares,
        Share("step", total, replay.step),
        sum(call.count for call in capture.calls),
        tuple((call, missing[call.index]) for call in capture.calls if call.index in missing),
        half=half_of(replay.in_order["step"]) if "step" in ok else 0.0,
        tried=len(capture.calls),
        while_captured=replay.while_captured,
    )


def step_seconds(capture: Capture) -> float | None:
    """The step as it ran on its own; while captured, where nothing else is known."""
    seconds = capture.header.get("step_seconds") or capture.header.get("captured_seconds")
    return float(seconds) if seconds else None
