"""`opbench.record`: record a piece of a program, as a context, a decorator, or from here on.

with opbench.record("step.jsonl"):
    loss = model(x).sum(); loss.backward(); optimizer.step()

@opbench.record("step.jsonl")
def step(batch): ...

opbench.record.start()          # two lines at the top of a script; written at its end
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.capture.recorder import Recorder, Window

DEFAULT_FILE = "opbench-capture.jsonl"


class Recording:
    """A recording to be made: enter it, or put it above a function."""

    def __init__(self, path: str | Path, options: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.options = dict(options)
        self._recorder: Recorder | None = None

    def __enter__(self) -> Recording:
        self._recorder = recorder(self.path, **self.options).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._recorder is not None:
            self._recorder.finish()
            self._recorder = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, recorded the first time it is called, or as often as `calls` says."""
        span = parse_span(str(self.options.get("calls") or 1))
        count = 0

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == span[0]:
                options = {**self.options, "calls": None}
                self._recorder = recorder(self.path, **options).start()
            try:
                return function(*args, **kwargs)
            finally:
                if count == span[1]:
                    self.__exit__()

        return recorded


class Record:
    """What `opbench.record` is."""

    def __init__(self) -> None:
        self._running: Recorder | None = None

    def __call__(self, path: str | Path = DEFAULT_FILE, **options: Any) -> Recording:
        """Record what runs inside; options: steps="3-4", calls="2", values, timing, sizes."""
        return Recording(path, options)

    def start(self, path: str | Path = DEFAULT_FILE, **options: Any) -> None:
        """Record from here on; the file is written when the window or the program ends."""
        if self._running is not None:
            raise UserError("a recording is running already; record.stop() ends it")
        options.setdefault("auto", True)
        self._running = recorder(path, **options).start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the recording that `start` began, and write its file."""
        if self._running is not None:
            self._running.finish()
            self._running = None
            atexit.unregister(self.stop)


record = Record()


def recorder(
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
) -> Recorder:
    from opbench.capture.recorder import Recorder

    window = window_of(steps, calls, auto)
    return Recorder(
        path, window, values=values, timing=timing, sizes=sizes, stop=stop, source=source
    )


def window_of(steps: str | int | None, calls: str | int | None, auto: bool = False) -> Window:
    from opbench.capture.recorder import Window

    if steps and calls:
        raise UserError("a window is given in steps or in calls, not in both")
    if steps:
        return Window("steps", *parse_span(str(steps)))
    if calls:
        return Window("calls", *parse_span(str(calls)))
    return Window("auto" if auto else "all")


def parse_span(text: str) -> tuple[int, int]:
    """(3, 4) of `3-4`, (3, 3) of `3`."""
    first, _, last = text.partition("-")
    if not first.strip().isdecimal() or (last and not last.strip().isdecimal()):
        raise UserError(f"a window is written 3 or 3-4, counted from 1, not '{text}'")
    span = (int(first), int(last or first))
    if span[0] < 1 or span[1] < span[0]:
        raise UserError(f"a window is written 3 or 3-4, counted from 1, not '{text}'")
    return span
