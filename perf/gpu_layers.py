"""The layer suite on an NVIDIA GPU: the CUDA tests, then the full default configuration.

    python -m perf.gpu_layers --out FOLDER [--minutes 20] [--modes …] [--layers …] [--skip-tests]

Writes `FOLDER/layers_cuda.csv` (every result with its environment, after each layer anew, so that
a run that is cut short leaves what it has), `FOLDER/layers_cuda.db` (the store, raw samples
included) and `FOLDER/tests.txt`. Needs torch with CUDA, and opacus for everything but `baseline`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.gpu_layers", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--minutes", type=float, default=20.0, help="stop after so many minutes")
    parser.add_argument(
        "--modes", nargs="+", default=["baseline", "hooks", "functorch", "ew", "ghost"]
    )
    parser.add_argument("--layers", nargs="+", default=[], help="only these")
    parser.add_argument("--batch-sizes", nargs="+", default=[], help="only these")
    parser.add_argument("--runs", type=int, default=6, help="runs of each case, over 3 starts")
    parser.add_argument("--repeats", type=int, default=20, help="steps timed in each run")
    parser.add_argument("--cold", action="store_true", help="also with the L2 cache flushed")
    parser.add_argument("--cont", action="store_true", help="complete the run in FOLDER")
    parser.add_argument("--skip-tests", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    failed = 0 if options.skip_tests else cuda_tests(options.out)
    left = options.minutes * 60 - (time.monotonic() - began)
    measure_gpu(options, left)
    sys.exit(failed)


def cuda_tests(out: Path) -> int:
    """0 when they pass; their output is kept either way."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "layers" / "test_cuda.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    (out / "tests.txt").write_text(done.stdout + done.stderr)
    print((done.stdout + done.stderr)[-1500:], flush=True)
    return done.returncode


def measure_gpu(options: argparse.Namespace, seconds: float) -> None:
    from opbench.api import execute
    from opbench.case import Case
    from opbench.result import Result
    from opbench.run.listener import Listener

    store = options.out / "layers_cuda.db"
    deadline = time.monotonic() + seconds
    write_every = 60.0

    class Watch(Listener):
        """Prints each result, writes the file now and then, and ends the run in time."""

        written = time.monotonic()

        def measured(self, case: Case, result: Result) -> None:
            value = f"{result.estimate:.4g} {result.unit}" if result.ok else result.outcome_text
            print(f"{case.id}  {result.metric}  {value}", flush=True)
            now = time.monotonic()
            if now - self.written > write_every:
                write(store, options.out)
                self.written = now

        def measuring(self, cases: Sequence[Case]) -> None:
            if time.monotonic() > deadline:
                print("the time is up", flush=True)
                raise KeyboardInterrupt  # ends the children; what is measured is kept

    axes: dict[str, list[str]] = {"mode": options.modes}
    if options.layers:
        axes["layer"] = options.layers
    if options.batch_sizes:
        axes["batch_size"] = options.batch_sizes
    times = ["host_time", "device_time", *(["device_time_cold"] if options.cold else [])]
    run = execute(
        ["layers"],
        {
            "axes": axes,
            "device": "cuda",
            "metrics": (*times, "memory"),
            "num_runs": options.runs,
            "num_repeats": options.repeats,
            "timeout": 120.0,
            "name": "layers-cuda",
        },
        store=str(store),
        cont=options.cont and store.exists(),
        listener=Watch(),
    )
    write(store, options.out)
    print(f"{len(run.results)} results, {run.status}", flush=True)


def write(store: Path, out: Path) -> None:
    from opbench.analyse.factors import rows
    from opbench.report import layers_csv
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        record = opened.find_run("last")
        found = rows(opened.results(run=record, samples=True))
    with (out / "layers_cuda.csv").open("w", encoding="utf-8", newline="") as stream:
        layers_csv.write(found, stream, layers_csv.environment_lines(record))


if __name__ == "__main__":
    main()
