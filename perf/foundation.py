"""Overhead and speed of opbench itself, and the coverage of its intervals."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median, stdev

from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.runner import Runner
from opbench.workers.process import Worker
from perf.small_cases import cases as small_cases

TITLE = "Foundation: overhead, speed, coverage of the intervals"
CODE = ("cli/list.py", "cli/main.py", "running", "sampling", "stats", "worker", "workers")

EMPTY_FUNCTION = "def f(): pass"
CALLS = 40_000
#: Blocks per process; the median is used.
BLOCKS = 15


def measure(quick: bool = False) -> str:
    rows = ["| figure | measured | target | |", "| :-- | --: | --: | :-- |"]
    rows += loops(rounds=2 if quick else 20)
    rows += sessions(count=5 if quick else 40)
    rows += hundred_cases(quick)
    rows += command_line(rounds=2 if quick else 7)
    return "\n".join(rows)


def row(what: str, measured: str, goal: str, reached: bool) -> str:
    return f"| {what} | {measured} | {goal} | {'reached' if reached else '**missed**'} |"


#: The other timers in a fresh process, torch imported as in our worker.
PEERS = f"""import json, timeit
from torch.utils.benchmark import Timer
timers = {{
    "timeit": timeit.Timer("f()", {EMPTY_FUNCTION!r}).timeit,
    "timeit pass": timeit.Timer("pass").timeit,
    "Timer": lambda n: Timer("f()", {EMPTY_FUNCTION!r}).timeit(n).mean * n,
}}
seen = {{name: [] for name in timers}}
for _ in range({BLOCKS}):
    for name, timer in timers.items():
        seen[name].append(timer({CALLS}) / {CALLS} * 1e9)
print(json.dumps({{name: sorted(values)[{BLOCKS} // 2] for name, values in seen.items()}}))
"""


def loops(rounds: int) -> list[str]:
    """The loop of a child compared with timeit's and torch's.

    Two processes that run the same loop differ by several nanoseconds, so the process is the unit:
    each round has a fresh worker and a fresh process for the other timers.
    """
    seen: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, value in (our_loops() | their_loops()).items():
            seen.setdefault(name, []).append(value)
    ns = {name: median(values) for name, values in seen.items()}
    theirs = ns["timeit"] - ns["timeit pass"]
    spread = [f"{min(seen[name]):.1f} to {max(seen[name]):.1f}" for name in ("f() raw", "timeit")]
    return [
        row(
            "`pass`, empty loop subtracted", f"{ns['pass']:+.2f} ns", "±2 ns", abs(ns["pass"]) <= 2
        ),
        row(
            "empty `f()`, loop included: ours − timeit (in parentheses: torch's Timer − timeit)",
            f"{ns['f() raw']:.1f} − {ns['timeit']:.1f} = {ns['f() raw'] - ns['timeit']:+.1f} ns "
            f"({ns['Timer'] - ns['timeit']:+.1f}); {rounds} processes each, ours {spread[0]}, "
            f"timeit {spread[1]}",
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


def our_loops() -> dict[str, float]:
    """Nanoseconds per call in the children of one fresh worker."""
    worker = Worker(sys.executable, ["torch"])
    found = {}
    try:
        for name, stmt, setup in (("pass", "pass", ""), ("f()", "f()", EMPTY_FUNCTION)):
            session = worker.open()
            session.prepare(Case("perf", name, "call", stmt, setup=setup), 0, 60)
            session.warm_up(0.1, 0.002, 60)
            answers = [session.block("time", CALLS, 60) for _ in range(BLOCKS)]
            found[name] = median(answer["value"] * 1e9 for answer in answers)
            found[f"{name} raw"] = median(answer["wall_ns"] / CALLS for answer in answers)
            session.close()
    finally:
        worker.close()
    return found


def their_loops() -> dict[str, float]:
    command = [sys.executable, "-c", PEERS]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def sessions(count: int) -> list[str]:
    """The cost of a session: fork, prepare nothing, one block of one call, exit."""
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
    return [row("one child session", f"{value:.1f} ms", "≤ 30 ms", value <= 30)]


def hundred_cases(quick: bool) -> list[str]:
    """Time per case to 2 %, and how many intervals contain a long reference.

    The reference has twice as many worker starts as any case may have, all of them fresh.
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
    """Results by hash, and the seconds without worker starts."""
    groups = tuple(PlannedGroup((case,)) for case in cases)
    runner = Runner(Request(groups, policy), lambda _case, _result, _again: None)
    began = time.monotonic()
    runner.run()
    spent = time.monotonic() - began - runner.start_seconds
    return {case.hash: result for case, result in runner.results}, spent


def command_line(rounds: int) -> list[str]:
    """Whole processes, as started from a shell."""
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
    """The median wall time of a command."""

    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    return median(once() for _ in range(rounds))
