"""What privacy costs a model, and where: the step taken apart, against the non-private step.

The difference between a private and the non-private step is measured on whole steps, undisturbed;
what explains it are the differences of its parts (each layer, the wrapper around them, clipping,
noise, optimizer), timed in steps with marks. Marks cost the same on both sides, so they cancel in
the differences. How much the parts explain is judged by steps without marks that took turns with
them: a machine whose speed wanders is another one by the time its parts are timed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from opbench.case import Case
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.suites.layers.names import BASELINE, MODES
from opbench.suites.layers.stored import MODELS

#: Parts of a step that are no layer.
STEPS = ("wrapper", "clipping", "noise", "optimizer")
OTHER = "other"
#: Times that a caller waits, in the order of preference.
TIMES = ("time", "host_time")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Step:
    """One variant of the step of one model at one batch size."""

    model: str
    batch_size: int
    mode: str
    #: Of the time that a caller waits, whatever its outcome.
    waited: Result | None = None
    memory: Result | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    #: Seconds of a step without marks, at the moments when its parts were timed.
    unmarked: float | None = None
    #: Bytes of each layer after the step: parameters, gradients, gradients by sample.
    held: Mapping[str, int] = field(default_factory=dict)
    #: What could not be measured: a metric, and its outcome with the reason.
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        return not self.mode.startswith(BASELINE)

    @property
    def name(self) -> str:
        return self.mode if self.private else "non-private" + self.mode.removeprefix(BASELINE)

    @property
    def time(self) -> Result | None:
        return self.waited if self.waited and self.waited.ok else None

    @property
    def peak(self) -> float | None:
        if self.memory is None or not self.memory.ok:
            return None
        detail = self.memory.detail
        return float(detail.get("max_memory", 0)) - detail.get("components", {}).get("offset", 0)


@dataclass(frozen=True)
class Overhead:
    """A private step against the non-private one."""

    step: Step
    base: Step

    @property
    def measured(self) -> float | None:
        """Seconds that the private step takes longer."""
        own, base = self.step.time, self.base.time
        if own is None or base is None or own.estimate is None or base.estimate is None:
            return None
        return own.estimate - base.estimate

    @property
    def differences(self) -> dict[str, float]:
        """Seconds by part, largest first: layers and steps of the optimizer."""
        names = dict.fromkeys((*self.step.parts, *self.base.parts))
        found = {
            name: self.step.parts.get(name, 0.0) - self.base.parts.get(name, 0.0)
            for name in names
            if name != OTHER
        }
        return dict(sorted(found.items(), key=lambda item: -abs(item[1])))

    @property
    def other(self) -> float:
        """Seconds of what is neither: the loss."""
        return self.step.parts.get(OTHER, 0.0) - self.base.parts.get(OTHER, 0.0)

    @property
    def explained(self) -> float | None:
        """The share of the difference that the parts add up to, at the moments of the parts."""
        if not self.step.parts or not self.base.parts or not self.measured or self.within_noise:
            return None
        beside = self.measured
        if self.step.unmarked and self.base.unmarked:
            beside = self.step.unmarked - self.base.unmarked
        return sum(self.differences.values()) / beside if beside > 0 else None

    @property
    def within_noise(self) -> bool:
        """Whether the private step may take no longer at all: no share of that is known."""
        if self.step.time is None or self.base.time is None:
            return False
        pair = compare_results(self.base.time, self.step.time, same_run=True)
        return pair.low is not None and pair.high is not None and pair.low <= 1 <= pair.high


def steps(results: Iterable[tuple[Case, Result]]) -> list[Step]:
    """The steps among results: by model and batch size, in the order of the modes."""
    by_case: dict[str, tuple[Case, dict[str, Result]]] = {}
    for case, result in results:
        if case.suite == MODELS:
            by_case.setdefault(case.hash, (case, {}))[1][result.metric] = result
    found = [_step(case, metrics) for case, metrics in by_case.values()]
    return sorted(_one_label_per_layer(found), key=_place)


def _place(step: Step) -> tuple[str, int, int, str]:
    return (step.model, step.batch_size, MODES.index(step.mode.split("+")[0]), step.mode)


def _step(case: Case, found: Mapping[str, Result]) -> Step:
    parts = found.get("parts")
    return Step(
        model=case.name,
        batch_size=int(case.axes["batch_size"] or 0),
        mode=str(case.axes["mode"]),
        waited=next((found[metric] for metric in TIMES if metric in found), None),
        memory=found.get("memory"),
        parts=parts.detail.get("parts", {}) if parts and parts.ok else {},
        unmarked=parts.detail.get("unmarked") if parts and parts.ok else None,
        held=parts.detail.get("held", {}) if parts and parts.ok else {},
        failed={name: result.outcome_text for name, result in found.items() if not result.ok},
    )


def _one_label_per_layer(found: Sequence[Step]) -> list[Step]:
    """The steps with the same label for a layer and for the one of another kind that stands in for
    it in the private steps (`1 GroupNorm for BatchNorm1d`), so that the two can be subtracted."""
    labels: dict[tuple[str, int], dict[str, str]] = {}
    for step in found:
        of_model = labels.setdefault((step.model, step.batch_size), {})
        for label in (*step.parts, *step.held):
            own, _, replaced = label.partition(" for ")
            if replaced:
                # Unreplaced, it has the name of the module, with its kind where that is a number.
                name = own.rpartition(" ")[0]
                of_model |= {name: label, f"{name} {replaced}".lstrip(): label}

    def renamed(step: Step, values: Mapping[str, Value]) -> dict[str, Value]:
        of_model = labels[step.model, step.batch_size]
        return {of_model.get(label, label): value for label, value in values.items()}

    return [replace(s, parts=renamed(s, s.parts), held=renamed(s, s.held)) for s in found]


def overheads(found: Iterable[Step]) -> list[Overhead]:
    """Every private step that was measured, with the non-private one it is compared with: a split
    step with the split one."""
    known = {(step.model, step.batch_size, step.mode): step for step in found}
    pairs = []
    for (model, batch, mode), step in known.items():
        kind = mode.split("+")
        name = "+".join([BASELINE, *(["split"] if "split" in kind else [])])
        base = known.get((model, batch, name))
        if kind[0] != BASELINE and base is not None:
            pairs.append(Overhead(step, base))
    return pairs
