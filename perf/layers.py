"""The layer suite compared with Opacus' own runner, which its wheel installs as `benchmarks`.

Both sides do the same work: the default layers at batch sizes 16 and 64, unwrapped and with hooks,
5 runs of 20 steps, twice, one thread. Recurrent layers have no bias, which Opacus' runner leaves
out unless it is asked for, unlike torch. The layers are divided into three groups; the sides take
turns at each (theirs, ours, ours, theirs), so that both meet the same on a machine whose speed
changes for minutes.

A convolution of the published size takes up to half a minute per step on a CPU, so its runs would
take hours on each side: `python -m perf.layers --full`.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from opbench.stats.distributions import t_quantile
from opbench.stats.pair import drift_of
from opbench.workers.process import environment_of

TITLE = "Layers: compared with Opacus' own runner"
CODE = ("running", "sampling", "suites/layers", "worker", "workers")

GROUPS = {
    "feed-forward": (
        *("linear", "layernorm", "instancenorm", "groupnorm", "embedding", "mha", "dpmha"),
    ),
    "recurrent": ("rnn", "dprnn", "gru", "dpgru", "lstm", "dplstm"),
    "convolution": ("conv",),
}
BATCH_SIZES = ("16", "64")
MODES = ("baseline", "hooks")
RUNS, REPEATS, ROUNDS = 5, 20, 2


@dataclass(frozen=True)
class Work:
    layers: Sequence[str]
    batch_sizes: Sequence[str] = BATCH_SIZES
    runs: int = RUNS
    repeats: int = REPEATS

    @property
    def arguments(self) -> list[str]:
        return [
            *("--layers", *self.layers, "--batch_sizes", *self.batch_sizes),
            *("--num_runs", str(self.runs), "--num_repeats", str(self.repeats)),
            *("--grad_sample_modes", *MODES, "--random_seed", "0"),
        ]


def measure(quick: bool = False, full: bool = False) -> str:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        works = {name: Work(layers) for name, layers in GROUPS.items()}
        if quick:
            works = {"feed-forward": Work(("linear", "layernorm"), ("16",), 2, 5)}
        elif not full:
            del works["convolution"]
        rows = ["| work | Opacus | opbench | ratio | |", "| :-- | --: | --: | --: | :-- |"]
        theirs, ours = side_by_side(works, place)
        for name, work in works.items():
            what = f"{name}, {ROUNDS} × {work.runs} × {work.repeats}"
            rows.append(row(what, theirs[name], ours[name], 1.0))
        asked = sum(theirs.values())
        rows.append(row("together", asked, sum(ours.values()), 1.0))
        print("\n".join(rows), flush=True)  # in case the rest fails
        spent = adaptive(works, place / "first.db")
        rows.append(row("the same, adaptive", asked, spent, 0.5))
        print(rows[-1], flush=True)
        text = precision(place / "first.db") + " "
        # A runner skips what it cannot do, which makes it faster.
        done = [len(list((place / side).rglob("*.pkl"))) for side in ("opacus", "opbench")]
        text += "Combinations of layer, mode and batch size that were measured: "
        text += f"Opacus {done[0]}, opbench {done[1]}."
        if not full and not quick:
            text += " The convolution is left out: its steps would take hours on each side."
        rows += ["", text]
        return "\n".join(rows)


def measure_group(name: str, rounds: int) -> str:
    """One group of layers, in so many rounds."""
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = side_by_side({name: Work(GROUPS[name])}, Path(folder), rounds)
    return row(f"{name}, {rounds} × {RUNS} × {REPEATS}", theirs[name], ours[name], 1.0)


def side_by_side(
    works: dict[str, Work], place: Path, rounds: int = ROUNDS
) -> tuple[dict[str, float], dict[str, float]]:
    theirs = dict.fromkeys(works, 0.0)
    ours = dict.fromkeys(works, 0.0)
    for name, work in works.items():
        for number in range(rounds):
            sides = [(run_opacus, theirs), (run_opbench, ours)]
            for run, spent in sides if number % 2 == 0 else reversed(sides):
                spent[name] += run(work, place)
    return theirs, ours


def run_opacus(work: Work, place: Path) -> float:
    root = place / "opacus"
    root.mkdir(exist_ok=True)  # or its results are lost
    command = [sys.executable, "-m", "benchmarks.run_benchmarks", *work.arguments]
    return timed([*command, "-c", str(config(place)), "--root", f"{root}/"], place)


def run_opbench(work: Work, place: Path) -> float:
    command = [sys.executable, "-m", "opbench.cli.main", "layers", *work.arguments]
    return timed([*command, "-c", str(config(place)), "--root", str(place / "opbench")], place)


def config(place: Path) -> Path:
    """The published one, with what the two runners differ in by default."""
    settings = json.loads(resources.files("opbench.data").joinpath("layers.json").read_text())
    settings["rnn_base"]["bias"] = False
    path = place / "layers.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def timed(command: list[str], place: Path, allowed: Sequence[int] = (0,)) -> float:
    began = time.monotonic()
    # One thread on both sides, in BLAS as well, and malloc as it is in our workers: the runners are
    # what is compared.
    environment = environment_of({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    spent = time.monotonic() - began
    if done.returncode not in allowed:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    print(f"   {command[2]} {' '.join(command[3:8])} …: {spent:.0f} s", flush=True)
    return spent


def adaptive(works: dict[str, Work], store: Path) -> float:
    """Wall time of the same work with the adaptive default."""
    layers = [layer for work in works.values() for layer in work.layers]
    sizes = next(iter(works.values())).batch_sizes
    command = [
        *(sys.executable, "-m", "opbench.cli.main", "run", "layers", "--store", str(store)),
        *("-a", f"layer={','.join(layers)}", "-a", f"mode={','.join(MODES)}"),
        *("-a", f"batch_size={','.join(sizes)}"),
    ]
    return timed(command, store.parent)


def precision(store: Path) -> str:
    """How many times are as precise as asked, from sampling alone and with the machine's drift."""
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        results = [stored.result for stored in opened.results(metric="time", outcome="ok")]
    whole = [result.half_width or 0.0 for result in results]
    drifts = [drift_of(result) for result in results]
    moment = [t_quantile(drift.freedom) * drift.sd for drift in drifts]
    alone = [math.sqrt(max(0.0, all_**2 - part**2)) for all_, part in zip(whole, moment)]
    text = f"Of {len(results)} adaptive times, sampling brought {sum(w <= 0.02 for w in alone)} "
    text += "within ±2 %; the others used up the time for a case. "
    drift = max((drift.sd for drift in drifts), default=0.0)
    text += f"The machine drifted by {drift:.1%} from moment to moment; with that in their "
    return text + f"intervals, {sum(w <= 0.02 for w in whole)} are within ±2 %."


def row(what: str, theirs: float, ours: float, goal: float) -> str:
    ratio = ours / theirs
    verdict = "reached" if ratio <= goal else "**missed**"
    return f"| {what} | {theirs:.0f} s | {ours:.0f} s | {ratio:.2f} (≤ {goal:g}) | {verdict} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.layers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="two layers, to see that it works")
    parser.add_argument("--full", action="store_true", help="with the convolution: takes hours")
    parser.add_argument("--print", action="store_true", dest="only_print", help="write no page")
    parser.add_argument("--only", choices=GROUPS, help="one group of layers; writes no page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of that group")
    options = parser.parse_args()
    if options.only:
        print(measure_group(options.only, options.rounds))
        return
    body = measure(options.quick, options.full)
    print(body)
    if not options.quick and not options.only_print:
        from perf import page

        command = "python -m perf.layers" + (" --full" if options.full else "")
        page.write("layers", TITLE, command, body)


if __name__ == "__main__":
    main()
