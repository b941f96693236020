"""The display of a run: the current case, its estimate so far, the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from opbench.case import Case
from opbench.errors import first_of, plural
from opbench.report.table import printed
from opbench.report.terminal.console import Console
from opbench.report.units import format_interval, format_value
from opbench.result import Result
from opbench.running.listener import FleetState, Listener
from opbench.stats.estimate import Estimate

#: Drawing costs CPU on the machine that is being measured: a few frames a second.
FRAME_SECONDS = 0.25
#: Without a frame for this long the clock is drawn: workers start, or a single call takes longer.
#: It is looked at four times as often, so no second goes by without a frame.
TICK_SECONDS = 0.75


class Display(Listener):
    """Redrawn between blocks; while one is timed only if it takes longer than a second."""

    def __init__(self, live: Any, failures: bool = True) -> None:
        self._live = live
        self._failures = failures
        self._planned = 0.0
        self._sides: Mapping[str, str] = {}
        self._over = threading.Event()
        self._total = 0
        self._done: set[tuple[str, str]] = set()
        self._began = time.monotonic()
        self._now = "reading benchmarks"
        self._cases = ""
        self._estimate = ""
        self._failed = 0
        #: Why cases failed; what stops many is said once.
        self._reasons: set[str] = set()
        self._drawn = 0.0
        self._fleet: FleetState | None = None
        self._draw(force=True)
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS / 4):
            if time.monotonic() - self._drawn >= TICK_SECONDS:
                self._draw()

    def close(self) -> None:
        self._over.set()
        self._clock.join()

    def planned(self, seconds: float) -> None:
        self._planned = seconds

    def sides(self, names: Mapping[str, str]) -> None:
        self._sides = names

    def started(self, run_id: str, cases: int, already_done: int) -> None:
        self._total = cases
        self._now = "preparing"
        self._draw(force=True)

    def notice(self, text: str) -> None:
        self._live.console.print(text, soft_wrap=True, markup=False)

    def complete(self, run_id: str) -> None:
        self._live.console.print(complete_line(run_id), highlight=False)

    def building(self, environment: str, line: str) -> None:
        self._now, self._estimate = f"building environment {environment}: {line}", ""
        self._draw(force=True)

    def starting_workers(self, what: str) -> None:
        self._now, self._estimate = f"starting workers ({what})", ""
        self._draw(force=True)

    def counting(self, cases: int, workers: int, seconds: float) -> None:
        self._live.console.print(counting_line(cases, workers, seconds), highlight=False)

    def compiling(self, statements: int) -> None:
        self._now, self._estimate = f"compiling {plural(statements, 'C++ statement')}", ""
        self._draw(force=True)

    def comparing(self, cases: Sequence[Case]) -> None:
        self._now, self._estimate = (
            f"comparing outputs of {plural(len(cases), 'case')}: {cases[0].id}",
            "",
        )
        self._draw()

    def measuring(self, cases: Sequence[Case]) -> None:
        self._cases = self._now = first_of((case.id for case in cases), 1)
        self._estimate = ""
        self._draw()

    def estimated(self, case: Case, estimate: Estimate, spent: float) -> None:
        self._now = self._cases or case.id
        value = format_interval(estimate.value, estimate.low, estimate.high, "s")
        self._estimate = f"{value} after {spent:.1f} s"
        self._draw()

    def measured(self, case: Case, result: Result) -> None:
        self._done.add((case.hash, result.environment))
        if result.failed:
            self._failed += 1
            if self._failures and result.outcome_text not in self._reasons:
                self._reasons.add(result.outcome_text)
                name = named(case, result, self._sides)
                line = Text(f"{name}: {result.outcome_text}", style="red")
                self._live.console.print(line)
        self._draw()

    def fleet(self, state: FleetState) -> None:
        self._fleet = state
        self._draw()

    def second_pass(self, cases: int, seconds: float) -> None:
        self._now = f"{seconds:.0f} s left: measuring {plural(cases, 'noisy case')} again"
        self._estimate = ""
        self._draw(force=True)

    def finished(self, status: str) -> None:
        self.close()
        self._live.update(Text(""), refresh=True)

    def _draw(self, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._drawn < FRAME_SECONDS:
            return
        self._drawn = now
        self._live.update(self._picture(now), refresh=True)

    def _picture(self, now: float) -> Group:
        if self._fleet is not None:
            return self._fleet_picture(self._fleet, now - self._began)
        done, total = len(self._done), max(1, self._total)
        elapsed = now - self._began
        bar = Table.grid(padding=(0, 1))
        failed = f", {self._failed} failed" if self._failed else ""
        bar.add_row(
            ProgressBar(total=total, completed=done, width=30),
            f"{done}/{self._total}{failed}" if self._total else "",
            f"{elapsed:.0f} s{self._left(elapsed, done, total)}",
        )
        return Group(bar, Text(f"{self._now}  {self._estimate}", overflow="ellipsis", no_wrap=True))

    def _left(self, elapsed: float, done: int, total: int) -> str:
        """By the cases that are done, whose time includes worker starts; before, by the plan."""
        if done:
            return f", about {elapsed / done * (total - done):.0f} s left"
        if self._planned > elapsed:
            return f", {sampling_text(self._planned - elapsed)} left"
        return ""

    def _fleet_picture(self, state: FleetState, elapsed: float) -> Group:
        bar = Table.grid(padding=(0, 1))
        left = time_left(state, elapsed)
        bar.add_row(
            ProgressBar(total=max(1, state.total), completed=state.done, width=30),
            f"{state.done}/{state.total} groups",
            f"{elapsed:.0f} s" + (f", about {left:.0f} s left" if left is not None else ""),
        )
        return Group(bar, Text(fleet_line(state), overflow="ellipsis", no_wrap=True))


def sampling_text(seconds: float) -> str:
    """Of what a run takes, as much as is known before it begins."""
    return f"about {seconds:.0f} s of sampling"


def named(case: Case, result: Result, sides: Mapping[str, str]) -> str:
    """The case, and which side of it, where there are several."""
    side = sides.get(result.environment)
    return f"{case.id}  {side}" if side else case.id


def counting_line(cases: int, workers: int, seconds: float) -> str:
    return (
        f"counting instructions of {plural(cases, 'case')} in {plural(workers, 'worker')}: "
        f"about {seconds:.0f} s"
    )


def complete_line(run_id: str) -> str:
    return f"Run {run_id} is complete; nothing to measure."


def time_left(state: FleetState, elapsed: float) -> float | None:
    return elapsed / state.done * (state.total - state.done) if state.done else None


def fleet_line(state: FleetState) -> str:
    """`3 nodes, 3 running, 12 of 40 done, 1 failed, 2 lost and measured again`."""
    parts = [plural(state.nodes, "node")]
    if state.starting:
        parts.append(f"{state.starting} starting")
    parts += [f"{state.running} running", f"{state.done} of {state.total} done"]
    if state.failed:
        parts.append(f"{state.failed} failed")
    if state.lost:
        parts.append(f"{state.lost} lost with their node or agent")
    return ", ".join(parts)


#: A log gets the state of the fleet at most this often, unless something was lost.
LOG_SECONDS = 30.0


class Lines(Listener):
    """For a log file: one line per result, as it arrives."""

    def __init__(self, console: Console, failures: bool = True) -> None:
        self._console = console
        self._failures = failures
        self._began = time.monotonic()
        self._reported = 0.0
        self._lost = 0
        self._planned = ""
        self._sides: Mapping[str, str] = {}
        self._workers: set[str] = set()
        #: Why cases failed; what stops many is said once.
        self._reasons: set[str] = set()

    def fleet(self, state: FleetState) -> None:
        now = time.monotonic()
        due = now - self._reported > LOG_SECONDS or state.lost > self._lost
        if not due and state.done != state.total:
            return
        self._reported, self._lost = now, state.lost
        left = time_left(state, now - self._began)
        more = f", about {left:.0f} s left" if left else ""
        self._print(f"fleet: {fleet_line(state)}{more}")

    def notice(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)

    def complete(self, run_id: str) -> None:
        self._console.print(complete_line(run_id), highlight=False)

    def planned(self, seconds: float) -> None:
        if seconds:
            self._planned = f", {sampling_text(seconds)}, more where calls are long"

    def sides(self, names: Mapping[str, str]) -> None:
        self._sides = names

    def started(self, run_id: str, cases: int, already_done: int) -> None:
        stored = f", {plural(already_done, 'result')} stored before" if already_done else ""
        self._print(f"measuring {plural(cases, 'case')}{stored}{self._planned}")

    def building(self, environment: str, line: str) -> None:
        self._print(f"{environment}: {line}")

    def counting(self, cases: int, workers: int, seconds: float) -> None:
        self._print(counting_line(cases, workers, seconds))

    def compiling(self, statements: int) -> None:
        self._print(f"compiling {plural(statements, 'C++ statement')}")

    def starting_workers(self, what: str) -> None:
        """Once per kind: a log needs to know what a first result waits for, not of every start."""
        if what not in self._workers:
            self._workers.add(what)
            self._print(f"starting workers ({what})")

    def measured(self, case: Case, result: Result) -> None:
        if not result.ok and not self._failures:
            return
        # Without an interval: how far the machine drifts, which widens it, is known at the end.
        text = format_value(result.estimate, result.unit)
        if not result.ok:
            known = result.outcome_text in self._reasons
            text = result.outcome if known else result.outcome_text
            self._reasons.add(result.outcome_text)
        self._print(f"{named(case, result, self._sides)}  {result.metric}  {text}")

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)


class NotebookCell:
    """One output of a notebook cell, replaced as the run goes on and empty at its end."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)
        self.console = Console(stderr=True)

    def update(self, picture: RenderableType, refresh: bool = True) -> None:
        text = printed(lambda console: console.print(picture), width=100)
        self._handle.update({"text/plain": text.rstrip()}, raw=True)


def in_notebook() -> bool:
    """Whether a kernel runs this process; asks nothing of IPython where it is not loaded."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def progress(console: Console, failures: bool = True) -> Iterator[Listener]:
    """Without `failures`, cases that failed are left to what is printed at the end."""
    if not console.is_terminal:
        yield Lines(console, failures)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield from _displayed(live, failures)


@contextmanager
def python_progress() -> Iterator[Listener]:
    """For a call from Python: a display where somebody watches, nothing in a log."""
    if in_notebook():
        yield from _displayed(NotebookCell())
    elif sys.stderr is not None and sys.stderr.isatty():
        with progress(Console(stderr=True)) as listener:
            yield listener
    else:
        yield Listener()


def _displayed(live: Any, failures: bool = True) -> Iterator[Listener]:
    display = Display(live, failures)
    try:
        yield display
    finally:
        display.close()
