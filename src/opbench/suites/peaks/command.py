"""`opbench peaks`: the limits of this machine, measured once and stored."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import typer

from opbench.cli.options import run_option
from opbench.define.reading import names

#: Beyond this many, small products leave cores idle.
MANY_THREADS = 4


def peaks(
    device: str = typer.Option("cpu", metavar="cpu|cuda[:N]", help="Where to measure."),
    threads: str = typer.Option(
        None, metavar="1,2", help="Numbers of threads, on the CPU. [default: 1 and all cores]"
    ),
    dtype: list[str] = typer.Option(
        [], metavar="NAMES", help="float64, float32, float16, bfloat16. [default: all]"
    ),
    size: list[str] = typer.Option(
        [], "--n", metavar="N1,N2", help="Sizes of the matrices. [default: by device and threads]"
    ),
    framework: list[str] = typer.Option(
        [],
        metavar="torch,numpy,jax",
        help="Frameworks to try; the fastest counts. [default: torch, and NumPy on the CPU]",
    ),
    precision: str = run_option("precision", default=0.05),
    store: str = run_option("store"),
) -> int:
    """Measure what this machine can do at most.

    That is the fastest matrix product of each dtype, and the fastest copy.

    `opbench report roofline` shows how much of these limits each operator achieves.
    """
    from opbench.api.progress import progress
    from opbench.api.run import run as measure
    from opbench.errors import plural
    from opbench.report.terminal.console import Console
    from opbench.report.warnings.run_note import run_note
    from opbench.suites.peaks.definitions import SIZES_CUDA, SIZES_MANY, SUITE
    from opbench.suites.peaks.limits import fastest

    on_cpu = device.partition(":")[0] == "cpu"
    axes: dict[str, list] = {"framework": list(names(framework)) or _frameworks(on_cpu)}
    if size:
        axes["n"] = list(names(size))
    if on_cpu:
        axes["threads"] = _threads(threads)
        if not size and max(map(_number, axes["threads"])) > MANY_THREADS:
            axes["n"] = list(SIZES_MANY)
    elif not size:
        axes["n"] = list(SIZES_CUDA)
    if dtype:
        axes["dtype"] = list(names(dtype))
    options: dict[str, Any] = {
        "axes": axes,
        "device": device,
        "name": SUITE,
        "precision": precision or 0.05,
        "max_time_per_case": 3.0,
        "store": store,
    }
    console = Console(stderr=True)
    with progress(console) as listener:
        run = measure(SUITE, listener=listener, **options)
    _show(store)
    refused = [case.id for case, result in run if result.ok and fastest(result) is None]
    if refused:
        console.print(
            f"{plural(len(refused), 'limit')} not kept: other programs disturbed every sample. "
            "Run opbench peaks again on an idle machine.",
            markup=False,
        )
    if facts := run_note([result for _, result in run]).facts:
        print(f"This run: {facts}. Measure again when the machine is idle (opbench doctor).")
    return run.exit_code


def _frameworks(on_cpu: bool) -> list[str]:
    torch = ["torch"] if importlib.util.find_spec("torch") is not None else []
    return [*torch, "numpy"] if on_cpu or not torch else torch


def _number(text: object) -> int:
    return int(str(text)) if str(text).isdecimal() else 0


def _threads(text: str | None) -> list:
    if text:
        return text.split(",")
    return sorted({1, len(os.sched_getaffinity(0))})


def _show(store: str | None) -> None:
    """Print the peaks of the machine that was measured last."""
    from opbench.report.table import console_for, grid, plain_table
    from opbench.store import Store
    from opbench.suites.peaks.limits import peaks_of, results_of
    from opbench.suites.peaks.roofline_table import rate

    with Store.open(store, create=False) as opened:
        results = results_of(opened)
        facts = opened.environments({stored.result.fingerprint for stored in results})
    by_place = peaks_of(results, facts)
    latest = max(by_place.values(), key=lambda peaks: peaks.created, default=None)
    machine = next((place[0] for place, peaks in by_place.items() if peaks is latest), "")
    dtypes = list(dict.fromkeys(dtype for peaks in by_place.values() for dtype in peaks.flops))
    rows = [
        (
            peaks.device,
            str(peaks.threads) if peaks.threads else "",
            *(rate(peaks.flops.get(dtype, 0.0)) for dtype in dtypes),
            rate(peaks.bandwidth),
        )
        for place, peaks in sorted(by_place.items(), key=lambda item: item[0])
        if place[0] == machine
    ]
    columns = ("device", "threads", *(f"{dtype} GFLOP/s" for dtype in dtypes), "copy GB/s")
    console_for(sys.stdout).print(grid(plain_table("", columns, rows, words=1)))
