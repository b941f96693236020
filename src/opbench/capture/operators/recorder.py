"""Records a window of a program: from the end of one step to the end of another.

Outside the window only the steps are timed: their time, not that of the recorded ones, is what a
replay is held against.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch.overrides import _get_current_function_mode
from torch.utils._python_dispatch import _get_current_dispatch_mode

from opbench.capture.api.function_names import FunctionNames
from opbench.capture.compiled.regions import CompiledRegions, Region
from opbench.capture.operators.beside import Beside
from opbench.capture.operators.device_clock import attributed, device_clock
from opbench.capture.operators.log import LoggedCall, OperatorLog
from opbench.capture.operators.mode import OperatorMode
from opbench.capture.operators.models import Models
from opbench.capture.operators.phases import Phases, Seen
from opbench.capture.operators.unrecorded import MOST, Unrecorded
from opbench.capture.ranks import path_of_rank, rank_of
from opbench.capture.reading import VERSION
from opbench.capture.snapshots import snapshots_in
from opbench.capture.window import window_of
from opbench.capture.writing import rounded, write
from opbench.errors import UserError


class Done(SystemExit):
    """Ends a script whose window is over, when that was asked for."""


class OperatorRecorder:
    """One recording. `start`, then let the program run, then `finish`."""

    def __init__(
        self,
        path: str | Path,
        *,
        steps: str | int | None = None,
        calls: str | int | None = None,
        values: bool = True,
        timing: bool | None = None,
        sizes: Mapping[str, int] | None = None,
        stop: bool = False,
        source: str = "",
        auto: bool = False,
    ) -> None:
        self.path = self._given = Path(path).absolute()
        self.window = window_of(steps, calls, auto)
        self.values, self.timing, self.sizes = values, timing, dict(sizes or {})
        self.stop, self.source = stop, source
        self.log = OperatorLog()
        # Of a block, what its own thread does is recorded.
        turned = None if self.window.kind == "all" else self._turned
        self.phases = Phases(self._step_ended, self._call_ended, turned, self._call_begins)
        self._models = Models(self._another_model)
        #: Whether the top module that is running is the model.
        self._in_model = True
        self._regions = CompiledRegions(self._region, self._step_aside, self._come_back)
        self.written = False
        #: Told of every time the file is written.
        self.on_written: Callable[[], None] = lambda: None
        #: Why it could not be written, when the window ended inside the program's own step.
        self._failure: UserError | None = None
        #: Rank and number of ranks; asked while the program still knows them.
        self._ranks: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._mode: OperatorMode | None = None
        #: The unit before the window is recorded too, and forgotten: torch looks up operators and
        #: functions when they first come into Python, which takes longer than to run them.
        self._rehearsing = False
        #: The first step, when the window is the second: there may be none.
        self._only: tuple[OperatorLog, list[float], Seen | None] | None = None
        self._only_step = False
        self._names: FunctionNames | None = None
        self._names_aside = False
        #: Steps of the optimizer, and calls of the model, that were seen.
        self.steps = self.calls = 0
        #: Units (steps or calls) recorded, and when the running one began.
        self._recorded = 0
        self._unit_began = perf_counter()
        #: Seconds of the units recorded, and what was seen of the last of them.
        self._captured: list[float] = []
        self._seen: Seen | None = None
        self._unrecorded = Unrecorded()
        #: What the GPU did in the units recorded; those after them; the seconds of one of those.
        self._activities: list[Any] = []
        self._beside: Beside | None = None
        self._device_step: float | None = None
        self._finished = False

    # -- the window ------------------------------------------------------------------------

    def start(self) -> OperatorRecorder:
        self.phases.watch()
        self._regions.watch()
        os.register_at_fork(after_in_child=self.abandon)
        self._begin()
        return self

    @property
    def graphed(self) -> int:
        """Steps that were captured in a CUDA graph, whose replays nobody sees."""
        return self.phases.graphed

    def _begin(self) -> None:
        """Nothing was seen yet of what is to be recorded."""
        self.steps = self.calls = self._recorded = 0
        self._captured, self._unrecorded, self._only = [], Unrecorded(), None
        self._close()
        if self.window.kind in ("all", "auto") or self.window.first <= 2:
            self._open()
            self._rehearsing = self.window.first == 2
        self.phases.restart()
        self._unit_began = perf_counter()

    def finish(self) -> None:
        """Write the file, unless the window has already ended; stop watching. Raises if the file
        could not be written."""
        if self._finished or os.getpid() != self._pid:
            return
        self._finished = True
        recording = self._mode is not None and not self._rehearsing
        self._close()
        self._unwatch()
        if recording and self.window.kind != "all":
            recording = self._complete()
        if self._failure is not None:
            raise self._failure
        if recording or ((self._unrecorded or self._device_step) and self.written):
            self._write()

    def _complete(self) -> bool:
        """The program ends within the window: keep the steps that are whole; False if none is."""
        if self._recorded:
            self.log.drop_unfinished()
        elif self._only is not None:
            self.log, self._captured, self._seen = self._only
            self._recorded, self._only_step = 1, True
        else:
            # No step at all: calls of a model, perhaps.
            return self.window.kind == "auto" and bool(self.log.calls)
        return True

    def abandon(self) -> None:
        """In a forked child: this is no longer the program that is recorded."""
        if self._mode is not None:
            self._mode.active = False
        self._finished = True

    def _open(self, rehearsed: Mapping[Any, LoggedCall] | None = None) -> None:
        self.log = OperatorLog(rehearsed=dict(rehearsed or {}))
        self._mode = OperatorMode(self.log, self.phases, self.timing, device_clock())
        self._names = FunctionNames(self.phases)
        self._names.__enter__()
        self._mode.__enter__()

    def _close(self) -> None:
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        # A mode of the script's own may lie above ours, and only the topmost can be taken off.
        if self._mode is not None:
            self._mode.active = False
            if _get_current_dispatch_mode() is self._mode:
                self._mode.__exit__(None, None, None)
            if self._mode.clock is not None:
                self._activities = self._mode.clock.stop() or []
                self.log.device = attributed(self._activities) if self._activities else None
                self._mode.clock = None
            self._mode = None
        if self._names is not None:
            if not self._names_aside and _get_current_function_mode() is self._names:
                self._names.__exit__(None, None, None)
            self._names_aside = False
            self._names = None
            self.phases.api = ""

    def _pause(self) -> None:
        if self._mode is not None:
            self._mode.active = False
            if self._mode.clock is not None:
                self._mode.clock.push_own()
        self._names_off()

    def _go_on(self) -> None:
        if self._mode is not None:
            self._mode.active = True
            if self._mode.clock is not None:
                self._mode.clock.pop()
        self._names_on()
        self.phases.leave_out()

    def _names_off(self) -> None:
        if self._names is not None and _get_current_function_mode() is self._names:
            self._names.__exit__(None, None, None)
            self._names_aside = True

    def _names_on(self) -> None:
        if self._names is not None and self._names_aside:
            self._names.__enter__()
        self._names_aside = False

    # -- compiled code ---------------------------------------------------------------------

    def _region(self, region: Region, inputs: Any, run: Callable[[], Any]) -> Any:
        if self._mode is None or self._over():
            return run()
        return self._mode.region(region, inputs, run)

    def _step_aside(self) -> None:
        """A compiled function begins: what the compiler could trace of ours is taken away."""
        self._names_off()
        self.phases.step_aside()

    def _come_back(self) -> None:
        self._names_on()
        self.phases.come_back()

    def _unwatch(self) -> None:
        self.phases.unwatch()
        self._regions.unwatch()

    def _step_ended(self) -> None:
        self.steps += 1
        if not self._over():
            self._unit_ended("steps", self.steps, perf_counter() - self._unit_began)

    def _call_begins(self, module: torch.nn.Module | None) -> bool:
        """A top module is called; with a window of calls, only what the model does is recorded."""
        if self._over() or self.window.kind == "steps":
            return True
        self._in_model = self._models.call(module, settled=self.written)
        if not self._in_model and self.window.kind == "calls":
            self._pause()
            return False
        if self.window.kind == "calls" and self._mode is None:
            self._unrecorded.unit_begins()  # what the program does between two calls is in neither
        return True

    def _another_model(self) -> None:
        self.log.call_ends.clear()
        if self.window.kind == "calls":
            self._begin()

    def _call_ended(self) -> None:
        if not self._in_model:
            self._in_model = True
            if self.window.kind == "calls":
                self._go_on()
            return
        self.calls += 1
        if self._over():
            return
        if self.window.kind == "calls":
            self._unit_ended("calls", self.calls, perf_counter() - self.phases.call_began)
        elif self._mode is not None:
            self.log.end_call()

    def _turned(self) -> None:
        """The program works in another thread: what was seen so far was not it."""
        if self._over() or self.written:
            return
        self._models = Models(self._another_model)
        self._begin()

    def _over(self) -> bool:
        return self._finished or os.getpid() != self._pid

    def _unit_ended(self, kind: str, number: int, seconds: float) -> None:
        """A step, or a call of the model, has ended: the window may begin or end with it."""
        window = self.window
        if window.kind not in (kind, "all", "auto"):
            return
        self._ranks = self._ranks or rank_of()
        self._note_unit(seconds, number)
        if window.kind != "all":
            # With `auto` the first step is recorded in case there is no second.
            first, last = (2, 2) if window.kind == "auto" else (window.first, window.last)
            if number == last and self._mode is not None:
                self._close()
                try:
                    if self.log.calls:  # else the thread that trains was not known before
                        self._write()
                except UserError as error:  # which is no reason to end a training
                    self._failure = error
                if self.stop:
                    raise Done(0)
                if kind == "steps" and self.log.device is not None:
                    self._beside = Beside.begun(self._activities, self._recorded)
            elif number in (first - 2, first - 1):
                self._close()
                if window.kind == "auto" and self.log.calls:
                    self._only = self.log, self._captured, self._seen
                self._recorded, self._captured = 0, []
                # In the first step an optimizer has seen nothing yet: its state is all zeros.
                self._open(self.log.calls if self._rehearsing and number > 1 else None)
                self._rehearsing = number == first - 2
            elif len(self._unrecorded) >= MOST and self.written:
                self._unwatch()
        self.phases.restart()
        self._unrecorded.unit_begins()
        self._unit_began = perf_counter()

    def _note_unit(self, seconds: float, number: int) -> None:
        self.phases.enter(self.phases.now)
        if self._mode is not None:
            self._recorded += 1
            self._captured.append(seconds)
            self.log.end_step()
            self._seen = self.phases.seen()
        elif self._beside is not None:
            if self._beside.unit_ended(self._unit_began):
                if self._beside.times is not None:
                    self.log.device = self._beside.times
                    self._device_step = self._beside.seconds
                self._beside = None
        elif number > 1:  # the first pays for what is set up once
            self._unrecorded.unit_ended(seconds, self.phases.seen())

    # -- the file --------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "opbench": "capture",
            "version": VERSION,
            "level": "operators",
            "torch": str(torch.__version__),
            "python": ".".join(map(str, sys.version_info[:3])),
            "source": self.source,
            "window": self.window.text,
            "steps": self._recorded or max(1, len(self.log.call_ends)),
            "threads": torch.get_num_threads(),
            "device": self._device(),
            "values": self.values,
        }
        if self._models.name and (not self._recorded or self.window.kind == "calls"):
            facts["model"] = self._models.name
        if self._only_step:
            facts["only_step"] = True
        if self._ranks is not None:
            facts["rank"], facts["ranks"] = self._ranks
        if self.sizes:
            facts["sizes"] = self.sizes
        if self._captured:
            facts["captured_seconds"] = rounded(median(self._captured))
        facts.update(self._unrecorded.facts(self._seen))
        if self.log.device is not None:
            steps = facts["steps"]
            facts["device_seconds"] = rounded(self.log.device.busy / steps)
            facts["device_phases"] = {
                phase: rounded(busy / steps) for phase, busy in self.log.device.phases.items()
            }
            if self.log.device.unrecorded:
                facts["device_unrecorded_seconds"] = rounded(self.log.device.unrecorded / steps)
        if self._device_step is not None:
            facts["device_step_seconds"] = rounded(self._device_step)
        return facts

    def _device(self) -> str:
        """The device of most arguments."""
        devices = Counter(
            tensor.spec.device
            for call in self.log.calls.values()
            for tensor in snapshots_in(list(call.arguments[0]))
        )
        return max(devices, key=lambda device: devices[device], default="cpu")

    def _write(self) -> None:
        self._ranks = self._ranks or rank_of()
        self.path = path_of_rank(self._given, self._ranks)
        if self.window.kind == "calls":
            self.log.others = self._models.others
        write(self.log.capture(self.header(), self.values, self.path.stem), self.path)
        self.written = True
        self.on_written()
