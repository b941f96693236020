"""The layer suite on an NVIDIA GPU: the CUDA tests, then the full default configuration.

    python -m perf.gpu_layers --out FOLDER --tests
    python -m perf.gpu_layers --out FOLDER --modes baseline hooks --minutes 9
    python -m perf.gpu_layers --out FOLDER --modes baseline functorch ew ghost --minutes 9

The same command continues where the last one stopped, so ten minutes at a time on a GPU are enough.
FOLDER keeps `layers_cuda.db` (the store, raw samples included) and `layers_cuda.csv` (every result
of the store with its environment, rewritten every minute and at the end). Needs torch with CUDA,
and opacus for every mode but `baseline`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODES = ("baseline", "hooks", "functorch", "ew", "ghost")
NAME = "layers-cuda"

#: Runs and repeats of each family. A recurrent step launches thousands of kernels and takes a
#: tenth of a second or more, so a few of them say as much as hundreds of the others.
FAMILIES = {
    "feed-forward": (
        ("linear", "conv", "layernorm", "instancenorm", "groupnorm", "embedding", "mha", "dpmha"),
        (6, 20),
    ),
    "recurrent": (("rnn", "dprnn", "gru", "dpgru", "lstm", "dplstm"), (3, 5)),
}
WRITE_SECONDS = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.gpu_layers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--tests", action="store_true", help="run only the CUDA tests")
    parser.add_argument("--minutes", type=float, default=9.0, help="stop after this many minutes")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--batch-sizes", nargs="+", default=[], help="only these batch sizes")
    parser.add_argument("--cold", action="store_true", help="also with the L2 cache flushed")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tests:
        sys.exit(cuda_tests(options.out))
    deadline = time.monotonic() + options.minutes * 60
    try:
        for family in options.families:
            measure_family(family, options, deadline)
    except KeyboardInterrupt:
        print("interrupted, or time is up; the same command goes on from here", flush=True)
    write(options.out)


def cuda_tests(out: Path) -> int:
    """The exit code of the tests; their output is kept either way."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "suites" / "layers" / "test_cuda.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    (out / "tests.txt").write_text(done.stdout + done.stderr)
    print((done.stdout + done.stderr)[-4000:], flush=True)
    return done.returncode


def measure_family(family: str, options: argparse.Namespace, deadline: float) -> None:
    from opbench.api.run import run as measure
    from opbench.case import Case
    from opbench.result import Result
    from opbench.running.listener import Listener

    class Watch(Listener):
        """Prints each result, writes the file once a minute, and ends the run in time."""

        written = time.monotonic()

        def measured(self, case: Case, result: Result) -> None:
            value = f"{result.estimate:.4g} {result.unit}" if result.ok else result.outcome_text
            print(f"{case.id}  {result.metric}  {value}", flush=True)
            now = time.monotonic()
            if now - self.written > WRITE_SECONDS:
                write(options.out)
                self.written = now

        def measuring(self, cases: Sequence[Case]) -> None:
            if time.monotonic() > deadline:
                raise KeyboardInterrupt  # ends the children; what is measured is kept

    layers, (runs, repeats) = FAMILIES[family]
    axes: dict[str, list[str]] = {"layer": list(layers), "mode": options.modes}
    if options.batch_sizes:
        axes["batch_size"] = options.batch_sizes
    times = ["host_time", "device_time", *(["device_time_cold"] if options.cold else [])]
    name = "-".join((NAME, family, *options.modes, *options.batch_sizes))
    run = measure(
        "layers",
        axes=axes,
        device="cuda",
        metrics=(*times, "memory"),
        num_runs=runs,
        num_repeats=repeats,
        timeout=120.0,
        name=name,
        store=str(options.out / "layers_cuda.db"),
        cont=begun(options.out, name),
        listener=Watch(),
    )
    print(f"{family}: {len(run.results)} results, {run.status}", flush=True)


def begun(out: Path, name: str) -> bool:
    from opbench.store import Store

    store = out / "layers_cuda.db"
    if not store.exists():
        return False
    with Store.open(store, create=False) as opened:
        return any(run.name == name for run in opened.runs())


def write(out: Path) -> None:
    """All runs of the store in one file. Factors are within one run; of two results of a case (a
    baseline measured again with other modes) the first is kept."""
    from opbench.report.environment import environment_lines
    from opbench.store import Store
    from opbench.suites.layers import csv_file as layers_csv
    from opbench.suites.layers.factors import LayerRow, rows

    kept: dict[tuple[object, ...], LayerRow] = {}
    notes: dict[str, None] = {}
    with Store.open(out / "layers_cuda.db", create=False) as opened:
        for record in reversed(opened.runs()):
            notes.update(dict.fromkeys(environment_lines(record)))
            for row in rows(opened.results(run=record, samples=True)):
                kept.setdefault((row.place, row.stage), row)
    found = sorted(kept.values(), key=lambda row: row.place)
    with (out / "layers_cuda.csv").open("w", encoding="utf-8", newline="") as stream:
        layers_csv.write(found, stream, notes)


if __name__ == "__main__":
    main()
