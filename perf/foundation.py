"""The cost of the harness itself, and whether its intervals tell the truth."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median, stdev

from opbench.case import Case
from opbench.result import Result
from opbench.run.plan import PlannedGroup
from opbench.run.policy import Adaptive
from opbench.run.runner import Request, Runner
from opbench.run.worker_process import Worker
from perf.operators import cases as small_cases

TITLE = "Foundation: overhead, speed, truth of the intervals"

EMPTY_FUNCTION = "def f(): pass"
CALLS = 40_000


def measure(quick: bool = False) -> str:
    rows = ["| figure | measured | to reach | |", "| :-- | --: | --: | :-- |"]
    rows += loops(rounds=5 if quick else 40)
    rows += sessions(count=5 if quick else 40)
    rows += hundred_cases(quick)
    rows += command_line(rounds=2 if quick else 7)
    return "\n".join(rows)


def row(what: str, measured: str, goal: str, reached: bool) -> str:
    return f"| {what} | {measured} | {goal} | {'reached' if reached else '**missed**'} |"


def loops(rounds: int) -> list[str]:
    """The loop of a child beside timeit's and torch's, rotated round by round."""
    from torch.utils.benchmark import Timer

    worker = Worker(sys.executable, ["torch"])
    sessions = {}
    for name, stmt, setup in (("pass", "pass", ""), ("f()", "f()", EMPTY_FUNCTION)):
        sessions[name] = worker.open()
        sessions[name].prepare(Case("perf", name, "call", stmt, setup=setup), 0, 60)
        sessions[name].warm_up(0.1, 0.002, 60)
    timers = {
        "timeit": timeit.Timer("f()", EMPTY_FUNCTION),
        "timeit pass": timeit.Timer("pass"),
    }
    torch_timer = Timer("f()", EMPTY_FUNCTION)
    seen: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, session in sessions.items():
            answer = session.block("time", CALLS, 60)
            seen.setdefault(name, []).append(answer["value"] * 1e9)
            seen.setdefault(f"{name} raw", []).append(answer["wall_ns"] / CALLS)
        for name, timer in timers.items():
            seen.setdefault(name, []).append(timer.timeit(CALLS) / CALLS * 1e9)
        seen.setdefault("Timer", []).append(torch_timer.timeit(CALLS).mean * 1e9)
    worker.close()
    ns = {name: median(values) for name, values in seen.items()}
    theirs = ns["timeit"] - ns["timeit pass"]
    return [
        row(
            "`pass`, empty loop subtracted", f"{ns['pass']:+.2f} ns", "±2 ns", abs(ns["pass"]) <= 2
        ),
        row(
            "empty `f()`, loop included: ours − timeit (torch's Timer − timeit beside it)",
            f"{ns['f() raw']:.1f} − {ns['timeit']:.1f} = {ns['f() raw'] - ns['timeit']:+.1f} ns "
            f"({ns['Timer'] - ns['timeit']:+.1f})",
            "±3 ns",
            abs(ns["f() raw"] - ns["timeit"]) <= 3,
        ),
        row(
            "empty `f()`, loop subtracted on both sides: ours − timeit",
            f"{ns['f()']:.1f} − {theirs:.1f} = {ns['f()'] - theirs:+.1f} ns",
            "±3 ns",
            abs(ns["f()"] - theirs) <= 3,
        ),
    ]


def sessions(count: int) -> list[str]:
    """Fork, set up nothing, one block of one call, end: what a session costs by itself."""
    worker = Worker(sys.executable, ["torch"])
    worker.wait_ready()
    case = Case("perf", "empty", "call", "pass", framework="torch", preload=("torch",))
    spent = []
    for _ in range(count):
        began = time.perf_counter()
        session = worker.open()
        session.prepare(case, 0, 60)
        session.block("time", 1, 60)
        session.close()
        spent.append(time.perf_counter() - began)
    worker.close()
    value = median(spent) * 1e3
    return [row("one child session by itself", f"{value:.1f} ms", "≤ 30 ms", value <= 30)]


def hundred_cases(quick: bool) -> list[str]:
    """Time per case to 2 %, and how many intervals contain a long reference.

    The reference rests on twice as many worker starts as any case may have, all of them fresh.
    """
    chosen = small_cases((8, 64), 5) if quick else small_cases()
    found, spent = run(chosen, Adaptive(precision=0.02))
    starts = 24
    long = Adaptive(precision=1e-4, starts=starts, max_starts=starts, max_time=60, min_rounds=7)
    reference, _ = run(chosen, long)
    held = wide = 0
    layouts = []
    for case in chosen:
        ours, truth = found[case.hash], reference[case.hash]
        assert ours.low is not None
        assert ours.high is not None
        assert truth.estimate is not None
        held += ours.low <= truth.estimate <= ours.high
        wide += (ours.half_width or 0) > 0.02
        layouts.append(between_starts(truth))
    each = spent / len(chosen)
    share = held / len(chosen)
    layouts.sort()
    middle, high = layouts[len(layouts) // 2], layouts[int(len(layouts) * 0.9)]
    return [
        row(
            f"{len(chosen)} small torch cases, ±2 % asked",
            f"{each:.2f} s per case; {wide} stayed wider than ±2 %",
            "≤ 0.6 s, all within ±2 %",
            each <= 0.6 and not wide,
        ),
        row(
            f"their 95 % intervals that contain a long reference ({starts} fresh starts)",
            f"{share:.0%}",
            "≥ 90 %",
            share >= 0.9,
        ),
        "| standard deviation between worker starts of identical code, median and 90th percentile "
        f"over these cases | {middle:.1%} and {high:.1%} | – | |",
    ]


def between_starts(result: Result) -> float:
    """Relative standard deviation of the medians of the worker starts."""
    starts: dict[int, list[float]] = {}
    for sample in result.samples:
        starts.setdefault(sample.start, []).append(sample.value)
    medians = [median(values) for values in starts.values()]
    return stdev(medians) / mean(medians)


def run(cases: Sequence[Case], policy: Adaptive) -> tuple[dict[str, Result], float]:
    """Results by hash, and the seconds beyond worker starts."""
    groups = tuple(PlannedGroup((case,)) for case in cases)
    runner = Runner(Request(groups, policy), lambda _case, _result, _again: None)
    began = time.monotonic()
    runner.run()
    spent = time.monotonic() - began - runner.start_seconds
    return {case.hash: result for case, result in runner.results}, spent


def command_line(rounds: int) -> list[str]:
    """Whole processes, as a person starts them."""
    program = str(Path(sys.executable).parent / "opbench")
    help_ = seconds([program, "--help"], rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.toml"
        path.write_text(
            '[[benchmark]]\nname = "many"\nstmt = "n + m"\n'
            f"axes = {{ n = {list(range(100))}, m = {list(range(100))} }}\n"
        )
        list_ = seconds([program, "list", str(path)], rounds)
    return [
        row("`opbench --help`", f"{help_:.2f} s", "≤ 0.3 s", help_ <= 0.3),
        row("`opbench list` of 10,000 cases", f"{list_:.2f} s", "≤ 2 s", list_ <= 2),
    ]


def seconds(command: Sequence[str], rounds: int) -> float:
    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    runs: Callable[[], float] = once
    return median(runs() for _ in range(rounds))
