"""The display of a run: there at once, and a clock that goes on while nothing is reported."""

from __future__ import annotations

import io
import time

from rich.console import Console as RichConsole

from opbench.api import progress
from opbench.api.progress import Display, Lines, in_notebook
from opbench.case import Case
from opbench.report.terminal.console import Console
from opbench.result import Result
from opbench.stats.estimate import Estimate


class Frames:
    """What a display draws, as text."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.console = Console(file=io.StringIO())

    def update(self, picture, refresh: bool = True) -> None:
        stream = io.StringIO()
        RichConsole(file=stream, width=120).print(picture)
        self.texts.append(stream.getvalue())


def test_the_first_frame_is_there_before_anything_is_reported():
    frames = Frames()
    display = Display(frames)
    display.close()
    assert "reading benchmarks" in frames.texts[0]


def test_the_clock_goes_on_while_workers_start_and_stops_at_the_end(monkeypatch, eventually):
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(progress, "FRAME_SECONDS", 0.0)
    frames = Frames()
    display = Display(frames)
    display.planned(100.0)
    display.started("run", 2, 0)
    display.starting_workers("torch")
    before = len(frames.texts)
    assert eventually(lambda: len(frames.texts) > before + 3)
    assert "starting workers (torch)" in frames.texts[-1]
    assert "about 100 s of sampling left" in frames.texts[-1]
    display.finished("finished")
    after = len(frames.texts)
    time.sleep(0.1)
    assert len(frames.texts) == after


def test_the_case_is_shown_again_once_its_workers_have_started(monkeypatch):
    monkeypatch.setattr(progress, "FRAME_SECONDS", 0.0)
    frames = Frames()
    display = Display(frames)
    case = Case("s", "slow", "call", "f()")
    display.measuring([case])
    display.starting_workers("torch")
    display.estimated(case, Estimate(1e-6, 0.9e-6, 1.1e-6, 1, 0.01, 0.01), 0.5)
    display.close()
    assert "s/slow/call" in frames.texts[-1]
    assert "starting workers" not in frames.texts[-1]


def test_a_log_begins_with_what_the_run_will_take():
    stream = io.StringIO()
    lines = Lines(Console(file=stream, width=100))
    lines.planned(38.4)
    lines.started("run", 6, 0)
    said = "measuring 6 cases, about 38 s of sampling, more where calls are long\n"
    assert stream.getvalue() == said


def test_a_run_that_samples_nothing_does_not_say_how_long_sampling_takes():
    stream = io.StringIO()
    lines = Lines(Console(file=stream, width=100))
    lines.planned(0.0)
    lines.started("run", 6, 0)
    assert stream.getvalue() == "measuring 6 cases\n"


def test_of_several_sides_each_result_names_its_own():
    stream, frames = io.StringIO(), Frames()
    case = Case("s", "a", "call", "f()")
    both = Lines(Console(file=stream, width=100)), Display(frames)
    for listener in both:
        listener.sides({"aaaa": "HEAD~1", "bbbb": "HEAD"})
        for place, outcome, estimate in (("aaaa", "ok", 1e-6), ("bbbb", "failed", None)):
            found = Result(case.hash, "time", "s", outcome, estimate=estimate, environment=place)
            listener.measured(case, found)
    both[1].close()
    assert stream.getvalue() == "s/a/call  HEAD~1  time  1.00 µs\ns/a/call  HEAD  time  failed\n"
    assert frames.console.file.getvalue() == "s/a/call  HEAD: failed\n"


def test_a_log_names_each_kind_of_worker_once():
    stream = io.StringIO()
    lines = Lines(Console(file=stream, width=100))
    for modules in ("torch", "jax", "torch", "jax"):
        lines.starting_workers(modules)
    assert stream.getvalue() == "starting workers (torch)\nstarting workers (jax)\n"


def failures_of(listener):
    for name in "ab":
        case = Case("s", name, "call", "f()")
        listener.measured(case, Result(case.hash, "time", "s", "failed", "no such file"))


def test_what_stops_many_cases_is_said_once():
    frames = Frames()
    display = Display(frames)
    failures_of(display)
    display.close()
    assert frames.console.file.getvalue() == "s/a/call: failed: no such file\n"
    stream = io.StringIO()
    failures_of(Lines(Console(file=stream, width=100)))
    assert stream.getvalue() == ("s/a/call  time  failed: no such file\ns/b/call  time  failed\n")


def test_a_test_session_is_no_notebook():
    assert not in_notebook()
