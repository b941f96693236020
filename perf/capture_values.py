"""Operators whose time depends on the values they are given: replayed from a capture, beside the
same call on the real values, measured in the same way, and by torch's Timer in a plain process, all
of them alternated.

A capture keeps no values but what steers time: order, skew, clusters, exact counts. Without them a
replay draws random ones, and takes up to eight times as long or half as long as the real call. A
block of a benchmark begins with caches that others used since, which a plain loop of one call does
not: the Timer is shown, and the values are judged by what is measured alike.
`python -m perf.capture_values record FILE` records the step, `… time NAME` times a call of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

TITLE = "Capture: operators steered by values"
CODE = ("capture", "suites/captured", "worker")

ROOT = Path(__file__).parent.parent
REAL = Path(__file__).with_name("capture_values_real.py")
LOW, HIGH = 0.85, 1.15
ROUNDS = 5

#: What to look for among the calls of the capture, by the name of the row.
ROWS = {
    "searchsorted, sorted boundaries": "aten::searchsorted",
    "sort of sorted numbers": "aten::sort",
    "sort of unsorted numbers": "aten::sort",
    "embedding, ids as frequent as words are": "aten::embedding",
    "embedding's backward, the same ids": "aten::embedding_dense_backward",
    "nonzero of a mask in runs": "aten::nonzero",
    "mm with a transposed weight": "aten::mm",
}


def calls() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Each row's call, and its real arguments."""
    import torch

    generator = torch.Generator().manual_seed(5)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    boundaries, values = drawn(100_000).sort().values, drawn(50_000)
    ordered, unordered = drawn(200_000).sort().values, drawn(300_000)
    # The n-th most frequent word is 1/n as frequent as the first.
    weights = 1 / torch.arange(1.0, 20_001.0)
    ids = torch.multinomial(weights, 16 * 512, replacement=True, generator=generator)
    ids = torch.randperm(20_000, generator=generator)[ids].view(16, 512)
    table, gradient = drawn(20_000, 64), drawn(16, 512, 64)
    lengths = torch.randint(60, 500, (256, 1), generator=generator)
    mask = torch.arange(512)[None, :] < lengths
    tokens, weight = drawn(256, 512), drawn(1024, 512)
    aten = torch.ops.aten
    found: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (torch.searchsorted, (boundaries, values)),
        (torch.sort, (ordered,)),
        (torch.sort, (unordered,)),
        (torch.nn.functional.embedding, (ids, table)),
        (aten.embedding_dense_backward, (gradient, ids, 20_000, -1, False)),
        (torch.nonzero, (mask,)),
        (torch.mm, (tokens, weight.t())),
    ]
    return dict(zip(ROWS, found))


def measure(quick: bool = False) -> str:
    from opbench.report.units import format_value

    times: list[dict[str, list[float]]] = [{name: [] for name in ROWS} for _ in range(3)]
    replayed, real, plain = times
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.jsonl"
        _python("record", str(path))
        for _ in range(1 if quick else ROUNDS):
            for found, into in ((_replayed(path), replayed), (_real(), real), (_plain(), plain)):
                for name, seconds in found.items():
                    into[name].append(seconds)
    lines = [
        "| call | in a plain loop | real | replayed | replayed / real | to reach | |",
        "|:--|--:|--:|--:|--:|--:|:--|",
    ]
    for name in ROWS:
        ratio = median(a / b for a, b in zip(replayed[name], real[name]))
        verdict = "reached" if LOW <= ratio <= HIGH else "**missed**"
        texts = (format_value(median(each[name]), "s") for each in (plain, real, replayed))
        lines.append(f"| {name} | {' | '.join(texts)} | {ratio:.2f} | {LOW}–{HIGH} | {verdict} |")
    return "\n".join(lines)


def _replayed(path: Path) -> dict[str, float]:
    """Seconds of each row's call alone; calls of one operator come in the order of the step."""
    from opbench.api.run import run
    from opbench.capture.reading import read
    from opbench.suites.captured.account import replay_of

    found = replay_of(read(path), run(path, save=False).results)
    alone: dict[str, list[float]] = {}
    for one in found.calls:
        if one.result.estimate is not None:
            alone.setdefault(one.call.operator, []).append(one.result.estimate)
    return {name: alone[operator].pop(0) for name, operator in ROWS.items()}


def _real() -> dict[str, float]:
    from opbench.api.run import run

    measured = run(REAL, save=False, threads=1)
    return {str(case.axes["row"]): result.estimate or 0.0 for case, result in measured}


def _plain() -> dict[str, float]:
    return {name: float(_python("time", name)) for name in ROWS}


def _python(*words: str) -> str:
    command = [sys.executable, "-m", "perf.capture_values", *words]
    # On Arm a matrix product asks OpenMP, whatever `torch.set_num_threads` said.
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def record(path: str) -> None:
    import torch

    import opbench

    torch.set_num_threads(1)
    prepared = calls().values()
    with opbench.record(path):
        for function, arguments in prepared:
            function(*arguments)


def timed(name: str) -> float:
    import torch
    from torch.utils.benchmark import Timer

    torch.set_num_threads(1)
    function, arguments = calls()[name]
    timer = Timer("function(*arguments)", globals={"function": function, "arguments": arguments})
    return timer.blocked_autorange(min_run_time=0.5).median


if __name__ == "__main__":
    what, argument = sys.argv[1:]
    if what == "record":
        record(argument)
    else:
        print(timed(argument))
