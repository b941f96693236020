"""How much fresh runs of one tool differ from each other, with the same wall time for each tool.

Each tool measures three small operators in a fresh process, fifteen times; the tools take turns,
and each gets the seconds that opbench took in that round. The figure is the spread of a tool's own
estimates. Some 100 seconds a round: about 25 minutes, 40 at most.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, stdev

TITLE = "Spread of the estimate over fresh runs, compared with other tools"
CODE = ("running", "sampling", "stats", "worker", "workers")

SETUP = "import torch; torch.set_num_threads(1); torch.manual_seed(0); "
SETUP += "x = torch.randn(64, 64); w = torch.randn(64, 64)"
OPERATORS = {"add": "x + w", "matmul": "x @ w", "sum": "x.sum()"}

#: However long opbench took: on a busy machine its worker starts may take minutes.
MOST_SECONDS = 30.0

#: Wall seconds that pyperf spends on one process of one operator, including the import of torch.
PYPERF_PROCESS = 4.4


def measure(quick: bool = False) -> str:
    rounds = 2 if quick else 15
    answers: dict[str, dict[str, list[float]]] = {}
    walls: dict[str, list[float]] = {}
    for number in range(rounds):
        budget = 0.0
        for name, tool in TOOLS.items():
            began = time.monotonic()
            found = tool(budget)
            took = time.monotonic() - began
            budget = budget or min(took, MOST_SECONDS)  # opbench goes first
            walls.setdefault(name, []).append(took)
            for operator, value in found.items():
                answers.setdefault(name, {}).setdefault(operator, []).append(value)
        print(f"  round {number + 1} of {rounds}", flush=True)
    lines = ["| tool | add | matmul | sum | mean spread | wall |"]
    lines.append("| :-- | --: | --: | --: | --: | --: |")
    spreads = {}
    for name, answered in answers.items():
        each = {op: stdev(values) / mean(values) for op, values in answered.items()}
        spreads[name] = mean(each.values())
        cells = " | ".join(f"{each[op]:.2%}" for op in OPERATORS)
        lines.append(f"| {name} | {cells} | {spreads[name]:.2%} | {median(walls[name]):.1f} s |")
    ours = spreads.pop("opbench")
    best = min(spreads, key=lambda name: spreads[name])
    share = ours / spreads[best]
    verdict = "reached" if share <= 0.5 else "**missed**"
    lines.append("")
    lines.append(
        f"Relative standard deviation over {rounds} fresh runs. Ours is {share:.2f} of the best "
        f"other tool's ({best}); target ≤ 0.5: {verdict}."
    )
    return "\n".join(lines)


def opbench(_budget: float) -> dict[str, float]:
    """Worker starts are part of the budget, as imports are for the other tools."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "three.toml"
        entries = [
            f'[[benchmark]]\nname = "{name}"\nstmt = "{stmt}"\n'
            f'setup = """{SETUP}"""\nglobals = "import torch"\nframework = "torch"\n'
            for name, stmt in OPERATORS.items()
        ]
        path.write_text("\n".join(entries))
        out = Path(folder) / "out.json"
        program = [sys.executable, "-m", "opbench"]
        store = str(Path(folder) / "results.db")
        command = [*program, "run", str(path), "--precision", "0.7%", "--max-time-per-case", "3s"]
        command += ["--max-starts", "14"]
        subprocess.run([*command, "--store", store], check=True, capture_output=True)
        export = [*program, "export", "-f", "json", "-o", str(out), "--store", store]
        subprocess.run(export, check=True, capture_output=True)
        page = json.loads(out.read_text())
    names = {key: case["name"] for key, case in page["cases"].items()}
    return {names[entry["case"]]: entry["estimate"] for entry in page["results"]}


def in_fresh_process(source: str) -> dict[str, float]:
    answer = subprocess.run(
        [sys.executable, "-c", source], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def peer_source(body: str, budget: float) -> str:
    return (
        "import json, sys, time\n"
        f"SETUP = {SETUP!r}\nOPERATORS = {OPERATORS!r}\nBUDGET = {budget!r}\n"
        f"began = time.monotonic()\n{SETUP}\nfound = {{}}\n"
        "for index, (name, stmt) in enumerate(OPERATORS.items()):\n"
        "    left = (BUDGET - (time.monotonic() - began)) / (len(OPERATORS) - index)\n"
        f"{body}\nprint(json.dumps(found))\n"
    )


TIMEIT = """    import timeit
    timer = timeit.Timer(stmt, SETUP)
    number, _ = timer.autorange()
    once = timer.timeit(number)
    repeats = max(3, int(left / once) - 2)
    found[name] = min(timer.repeat(repeats, number)) / number"""

TIMER = """    from torch.utils.benchmark import Timer
    found[name] = Timer(stmt, SETUP).blocked_autorange(min_run_time=left).median"""


def timeit_tool(budget: float) -> dict[str, float]:
    return in_fresh_process(peer_source(TIMEIT, budget))


def torch_timer(budget: float) -> dict[str, float]:
    return in_fresh_process(peer_source(TIMER, budget))


def pyperf_tool(budget: float) -> dict[str, float]:
    """As many processes as fit into the budget; each imports torch."""
    found = {}
    processes = str(max(1, int(budget / len(OPERATORS) / PYPERF_PROCESS)))
    with tempfile.TemporaryDirectory() as folder:
        for name, stmt in OPERATORS.items():
            out = Path(folder) / f"{name}.json"
            command = [sys.executable, "-m", "pyperf", "timeit", "-s", SETUP, stmt, "-o", str(out)]
            command += ["--processes", processes, "--values", "4", "--warmups", "1"]
            command += ["--min-time", "0.05"]
            subprocess.run([*command, "--quiet"], check=True, capture_output=True)
            import pyperf

            found[name] = float(pyperf.Benchmark.load(str(out)).mean())
    return found


BENCHMARK_FILE = f"""import pytest
{SETUP}
OPERATORS = {OPERATORS!r}

@pytest.mark.parametrize("name", list(OPERATORS))
def test_operator(benchmark, name):
    function = eval("lambda: " + OPERATORS[name])
    benchmark(function)
"""


def pytest_benchmark_tool(budget: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_operators.py"
        path.write_text(BENCHMARK_FILE)
        out = Path(folder) / "out.json"
        seconds = (budget - 4) / len(OPERATORS)
        command = [sys.executable, "-m", "pytest", "-q", str(path), f"--benchmark-json={out}"]
        command += [
            f"--benchmark-max-time={seconds}",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            folder,
        ]
        subprocess.run(command, check=True, capture_output=True)
        page = json.loads(out.read_text())
    return {entry["params"]["name"]: entry["stats"]["median"] for entry in page["benchmarks"]}


TOOLS: dict[str, Callable[[float], dict[str, float]]] = {
    "opbench": opbench,
    "timeit": timeit_tool,
    "torch Timer": torch_timer,
    "pyperf": pyperf_tool,
    "pytest-benchmark": pytest_benchmark_tool,
}
