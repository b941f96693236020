"""Instruction counts compared with `Timer.collect_callgrind`: speed, agreement, attribution."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from statistics import median

from opbench.analyse.functions import difference
from opbench.api.count import count
from opbench.case import Case
from opbench.counting.statements import compiled
from opbench.define.expand import expand
from opbench.define.suites import load
from opbench.envs.environments import current
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.runner import Runner
from opbench.workers.shared import NoSupervisor, Supervisor
from perf.small_cases import cases as small_cases
from perf.upstream_counts import Collected, collect

TITLE = "Instruction counts: compared with Timer.collect_callgrind"
CODE = ("counting", "running/counting.py", "snippets.py", "worker")

HEAD = ("| figure | measured | target | |", "| :-- | --: | --: | :-- |")

SETUP = """\
torch.manual_seed(0)
x = torch.rand(16, 16)
w = torch.rand(16, 16)
v = torch.rand(16, 16).requires_grad_()
model = torch.nn.Linear(16, 16)"""
FIVE = {
    "add": "x + w",
    "mul": "x * w",
    "matmul": "x @ w",
    "linear": "torch.nn.functional.linear(x, w)",
    "forward+backward": "(x * v).sum().backward()",
}
NUMBER, REPEATS = 100, 2
#: Arguments of `python -m perf.instructions PART…`; they take 18 or more, 1, 2, 1 and 1 minutes.
PARTS = ("upstream", "single", "compile", "injected", "threads")
#: In upstream's second repeat the interpreter still specialises lines with calls and attributes,
#: and the specialiser is counted. These are compared in a later repeat, and their time, which is
#: longer for that, is left out.
SETTLED = {"linear": 6, "forward+backward": 6}


def measure(quick: bool = False, parts: Sequence[str] = ()) -> str:
    """All figures, or those of some parts; all of them take about twenty-five minutes."""
    measured: dict[str, Callable[[], list[str]]] = {
        "upstream": lambda: against_upstream(quick),
        "single": single,
        "compile": lambda: compiling(standard(quick)),
        "injected": injected,
        "threads": threads,
    }
    rows = list(HEAD)
    for part in parts or PARTS:
        found = measured[part]()
        print("\n".join(found), flush=True)  # in case a later part fails
        rows += found
    return "\n".join(rows)


def against_upstream(quick: bool) -> list[str]:
    """Our fifty after each of upstream's: the machine is not equally fast all the time."""
    cases = small_cases(sizes=(8, 32), statements=5 if quick else 25)
    upstream: dict[str, Collected] = {}
    rounds = []
    for name, stmt in list(FIVE.items())[: 1 if quick else 5]:
        theirs = upstream[name] = collect(stmt, SETUP, repeats=SETTLED.get(name, REPEATS))
        print(f"   upstream, {name}: {theirs.seconds:.0f} s", flush=True)
        if name not in SETTLED:
            ours = fifty(cases)
            print(f"   ours, {len(cases)} cases: {ours[0]:.0f} and {ours[1]:.0f} s", flush=True)
            rounds.append((theirs.seconds * len(cases), *ours))
    return [*speeds(rounds, len(cases)), *agreement(upstream)]


def row(what: str, measured: str, goal: str, reached: bool) -> str:
    return f"| {what} | {measured} | {goal} | {'reached' if reached else '**missed**'} |"


def run(
    cases: Sequence[Case], metrics: tuple[str, ...] = ("instructions",), **options: object
) -> tuple[dict[tuple[str, str], Result], float]:
    """Results by (case id, metric), and the wall seconds until the last of them."""
    began = time.monotonic()
    policy = Adaptive(max_time=2.5)
    request = Request(tuple(PlannedGroup((c,)) for c in cases), policy, metrics, **options)  # type: ignore[arg-type]
    results = Runner(request, lambda *_: None).run()
    took = time.monotonic() - began
    return {(case.id, result.metric): result for case, result in results}, took


def fifty(cases: Sequence[Case]) -> tuple[float, float]:
    """Seconds cold, and again with the workers that the first run left in a pool of its own."""
    seconds = []
    with own_pool():
        for _ in range(2):
            found, took = run(cases, pool=True)
            failed = [key for key, result in found.items() if not result.ok]
            assert not failed, failed
            seconds.append(took)
    return seconds[0], seconds[1]


def speeds(rounds: Sequence[tuple[float, float, float]], cases: int) -> list[str]:
    rows = []
    for ours, (how, goal) in enumerate((("cold", 110), ("with resident workers", 150)), start=1):
        ratios = sorted(each[0] / each[ours] for each in rounds)
        middle = median(ratios)
        text = (
            f"{median(each[ours] for each in rounds):.1f} s; of {cases} times upstream's one: "
            f"{middle:.0f}× ({', '.join(f'{ratio:.0f}' for ratio in ratios)})"
        )
        what = f"{cases} Python cases, 100 calls, 2 repeats, {how}, {len(rounds)} rounds alternated"
        rows.append(row(what, text, f"≥ {goal}×", middle >= goal))
    return rows


def single() -> list[str]:
    """`opbench count` from the shell, without and with a worker in the pool."""
    command = [sys.executable, "-m", "opbench.cli.main", "count", "torch.add(x, y)"]
    command += ["--setup", "x = y = torch.ones(4)"]
    rows = []
    with own_pool():
        for which, goal in (("first", 30), ("second", 5)):
            began = time.monotonic()
            subprocess.run(command, check=True, capture_output=True)
            took = time.monotonic() - began
            what = f"{which} single statement from the shell"
            rows.append(row(what, f"{took:.1f} s", f"≤ {goal} s", took <= goal))
    return rows


@contextmanager
def own_pool() -> Iterator[None]:
    """A pool of workers that is empty at first and ended afterwards."""
    with tempfile.TemporaryDirectory() as folder, changed("XDG_RUNTIME_DIR", folder):
        try:
            yield
        finally:
            with suppress(NoSupervisor):
                supervisor = Supervisor(begin=False)
                supervisor.retire()
                supervisor.close()


def agreement(upstream: dict[str, Collected]) -> list[str]:
    """As upstream counts: a hundred copies of the statement at module level."""
    rows = []
    for name, theirs in upstream.items():
        ours = NUMBER * count(FIVE[name], SETUP, globals=True).per_call("instructions_raw")
        off = ours / theirs.counts[-1] - 1
        text = f"{ours:,.0f} against {theirs.counts[-1]:,}: {off:+.2%}"
        what = f"raw count of 100 × {name}, `--globals`"
        rows.append(row(what, text, "within 1 %", abs(off) <= 0.01))
    return rows


def standard(quick: bool) -> list[Case]:
    cases = expand(load("snippets"))
    few = [case for case in cases if case.name.startswith(("reduction", "empty"))]
    return few if quick else cases


def compiling(cases: Sequence[Case]) -> list[str]:
    with empty_cache():
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            built = compiled(cases, current())
            seconds.append(time.monotonic() - began)
    what = f"{len(built.libraries)} C++ statements"
    text = f"{seconds[0]:.0f} s, {len(built.failures)} failed"
    return [
        row(f"{what} compiled", text, "≤ 3 min", seconds[0] <= 180),
        row(f"{what} cached", f"{seconds[1]:.1f} s", "≤ 10 s", seconds[1] <= 10),
    ]


@contextmanager
def empty_cache() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, changed("OPBENCH_CACHE", folder):
        yield


@contextmanager
def changed(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        del os.environ[variable]
        if before is not None:
            os.environ[variable] = before


def injected() -> list[str]:
    """One extra Python call, and one extra operator: is it found, and in the right function?"""
    base = Case(
        "perf", "base", "call", "y = x * w", f"{SETUP}\ndef g(): pass", "import torch",
        framework="torch", preload=("torch",),
    )  # fmt: skip
    extra = {
        "an extra Python call": ("y = x * w; g()", "_PyE"),
        "an extra tensor operation": ("y = x * w; x.tril()", "tril"),
    }
    cases = [base, *(replace(base, name=n, stmt=stmt) for n, (stmt, _) in extra.items())]
    found, _ = run(cases)
    before = found[(base.id, "instructions")]
    rows = []
    for case in cases[1:]:
        after = found[(case.id, "instructions")]
        changes = difference(before, after)
        place = next((i for i, c in enumerate(changes) if extra[case.name][1] in c.function), -1)
        more = (after.estimate or 0) - (before.estimate or 0)
        text = f"{more:+,.0f} instructions"
        text += f", number {place + 1}: `{changes[place].function[:60]}`" if place >= 0 else ""
        reached = more > 20 and 0 <= place < 5
        rows.append(row(f"{case.name}, found and attributed", text, "the right function", reached))
    return rows


def threads() -> list[str]:
    """Work in a thread of Python's is counted; a case with two threads of torch's is refused."""
    setup = f"{SETUP}\nfrom concurrent.futures import ThreadPoolExecutor\n"
    setup += "large = torch.rand(20_000)\npool = ThreadPoolExecutor(1)"
    base = Case(
        "perf", "inline", "call", "large.sin()", setup, "import torch",
        framework="torch", preload=("torch",),
    )  # fmt: skip
    thread = replace(base, name="thread", stmt="pool.submit(large.sin).result()")
    two = replace(base, name="two", threads=2)
    found, _ = run([base, thread, two])
    inline, handed, refused = (found[(case.id, "instructions")] for case in (base, thread, two))
    more = (handed.estimate or 0) / (inline.estimate or 1) - 1
    text = f"{inline.estimate or 0:,.0f} inline, {handed.estimate or 0:,.0f} in a thread"
    return [
        row("work that Python hands to a thread", text, "counted", 0 < more < 0.5),
        row("a case with two threads", refused.outcome, "counted or refused",
            refused.outcome == "unsupported"),
    ]  # fmt: skip


def main() -> None:
    parts = [word for word in sys.argv[1:] if word in PARTS]
    print(measure("--quick" in sys.argv, parts))


if __name__ == "__main__":
    main()
