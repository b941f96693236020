"""The units (steps or calls) of a program that nobody records: what it takes when left alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch

from opbench.capture.operators.between import between
from opbench.capture.operators.phases import Seen
from opbench.capture.writing import rounded

#: More would not make the typical one better known.
MOST = 50


def marked_queue() -> Any:
    """A mark in the GPU's queue that will know when it was reached; None without a GPU in use."""
    if not torch.cuda.is_initialized():
        return None
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def middle(seconds: Sequence[float]) -> list[int]:
    """Numbers of the middle third, by time. Their mean is as little moved by a slow step as the
    median is, and the means of their phases add up to it: medians of phases, each of another step,
    gave 4 % more than the step."""
    order = sorted(range(len(seconds)), key=seconds.__getitem__)
    beyond = len(order) // 3
    return order[beyond : len(order) - beyond]


class Unrecorded:
    def __init__(self) -> None:
        #: Seconds of each, and its phases.
        self._units: list[tuple[float, Seen]] = []
        #: On a GPU: marks in its queue, at the beginning of the running unit, and around those that
        #: have ended. The program itself may run ahead of the GPU, and need not wait for it.
        self._mark: Any = None
        self._marked: list[tuple[Any, Any]] = []

    def __len__(self) -> int:
        return len(self._units)

    def unit_begins(self) -> None:
        self._mark = marked_queue()

    def unit_ended(self, seconds: float, seen: Seen) -> None:
        self._units.append((seconds, seen))
        if self._mark is not None:
            self._marked.append((self._mark, marked_queue()))

    def facts(self, recorded: Seen | None) -> dict[str, Any]:
        """What a capture says of them, given what was seen of a recorded one."""
        if not self._units:
            return {}
        seconds = self._seconds()
        typical = middle(seconds)
        each = [self._units[number][1] for number in typical]
        facts: dict[str, Any] = {
            "step_seconds": rounded(fmean(seconds[number] for number in typical)),
            "steps_timed": len(self._units),
        }
        if recorded is not None:
            found = between(recorded)
            facts["between_seconds"] = {phase: rounded(s) for phase, s in found.items()}
        names = dict.fromkeys(phase for seen in each for phase in seen.seconds)
        facts["phase_seconds"] = {
            phase: rounded(fmean(seen.seconds.get(phase, 0.0) for seen in each)) for phase in names
        }
        facts["idle_seconds"] = {
            phase: rounded(fmean(seen.idle(phase) for seen in each)) for phase in names
        }
        return facts

    def _seconds(self) -> list[float]:
        """By the GPU's clock where there is one."""
        if not self._marked:
            return [seconds for seconds, _ in self._units]
        self._marked[-1][1].synchronize()
        return [began.elapsed_time(ended) / 1e3 for began, ended in self._marked]
