"""The units after the recorded ones, which only CUPTI watches: the GPU's times at its own pace."""

from __future__ import annotations

from time import perf_counter

import torch

from opbench.capture.operators.device_clock import (
    DeviceClock,
    DeviceTimes,
    at_its_own_pace,
    attributed,
    device_clock,
)
from opbench.worker.cuda.cupti import Activity

#: CUPTI takes its time when it first sees a kernel, so the last of so many counts.
UNITS = 2


class Beside:
    """`recorded` is what the GPU did in the units that were recorded, so many of them."""

    def __init__(self, clock: DeviceClock, recorded: list[Activity], units: int) -> None:
        self._clock, self._recorded, self._units = clock, recorded, units
        self._ended = 0
        #: Of the recorded units, as they would have been at this pace; None where these launched
        #: something else. And the seconds of the one that counts.
        self.times: DeviceTimes | None = None
        self.seconds = 0.0

    @classmethod
    def begun(cls, recorded: list[Activity], units: int) -> Beside | None:
        clock = device_clock(labelled=False)
        return cls(clock, recorded, units) if clock is not None else None

    def unit_ended(self, began: float) -> bool:
        """Whether that was the last of them."""
        torch.cuda.synchronize()
        self.seconds = perf_counter() - began
        self._ended += 1
        if self._ended < UNITS:
            return False
        found = at_its_own_pace(self._recorded, self._clock.stop() or [], self._units)
        self.times = attributed(found) if found is not None else None
        return True

    def close(self) -> None:
        """The program ends, or turns to another thread, before it."""
        self._clock.stop()
