"""Capture and replay on three models: overhead, completeness, fidelity, speed, prediction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from perf.capture_train import SIZES

TITLE = "Capture and replay"
CODE = ("capture", "frameworks", "suites/captured", "worker")

TRAIN = Path(__file__).with_name("capture_train.py")

#: Model → the axes that are probed, and a size that was not captured.
PROBES = {
    "resnet": ({"batch": 17}, {"batch": 24}),
    "bert": ({"batch": 17, "size": 255}, {"batch": 12, "size": 192}),
    "lstm": ({"batch": 33}, {"batch": 24}),
}


def measure(quick: bool = False) -> str:
    models = ("lstm",) if quick else tuple(SIZES)
    rows = []
    remarks = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{model}.jsonl"
            captured = capture(model, path)
            rounds = 5 if quick else 20
            alone = checked("overhead", model, rounds, threads=1)
            slow = checked("overhead", model, rounds)
            counted = checked("counts", model, 0)
            replayed = replay(path)
            predicted = predict(model, Path(folder))
        batch, size = SIZES[model]
        rows.append(
            f"| {model} ({batch} × {size}) | {captured['calls']} | {captured['unique']} | "
            f"{captured['bytes'] / 1000:.0f} kB | {within(alone['ratio'], 0, 1.25)} | "
            f"{slow['ratio']:.2f} | "
            f"{replayed['ok']} of {replayed['all']} | {within(replayed['order'], 0.9, 1.1)} | "
            f"{replayed['hot']:.2f} | {replayed['seconds']:.0f} s | "
            f"{counted['captured']} / {counted['profiled']} | {predicted} |"
        )
        if counted["differences"]:
            counts = ", ".join(f"{n} {a}/{b}" for n, (a, b) in counted["differences"].items())
            remarks.append(f"{model}, captured/profiled: {counts}.")
        remarks += [f"{model}, not replayed: {reason}" for reason in replayed["missing"]]
        print(rows[-1], flush=True)
    head = (
        "| model | calls per step | unique | file | step captured / plain, one thread "
        "(≤ 1.25) | all threads | replayed | "
        "Σ in order / step (0.9–1.1) | Σ hot / step | replay takes (≤ 60 s) | "
        "captured / profiler | predicted exactly |\n" + "|---|" * 1 + "--:|" * 11
    )
    return "\n".join([head, *rows, "", *remarks])


def within(value: float, low: float, high: float) -> str:
    """The value, marked when it misses its target."""
    return f"{value:.2f}" + ("" if low <= value <= high else " (missed)")


def opbench(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opbench.cli.main", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done


def capture(model: str, path: Path, *options: str, batch: int = 0, size: int = 0) -> dict[str, Any]:
    from opbench.capture.reading import read

    usual = SIZES[model]
    words = ["--batch", batch or usual[0], "--size", size or usual[1], "--steps", 20]
    opbench("capture", "--steps", "4", *options, "-o", path, TRAIN, model, *words)
    found = read(path)
    return {
        "unique": len(found.calls),
        "calls": sum(call.count for call in found.calls) // found.steps,
        "bytes": path.stat().st_size,
    }


def checked(what: str, model: str, rounds: int, threads: int | None = None) -> dict[str, Any]:
    """By the environment: on Arm `torch.set_num_threads` leaves a product the others."""
    command = [sys.executable, "-m", "perf.capture_checks", what, model, str(rounds)]
    folder = Path(__file__).parent.parent
    env = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True, env=env)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def replay(path: Path) -> dict[str, Any]:
    """`opbench run FILE` as it is; what it takes, and what it explains."""
    from opbench.api.run import run
    from opbench.capture.reading import read
    from opbench.suites.captured.account import fidelity, replay_of

    began = time.monotonic()
    finished = run(path, save=False)
    seconds = time.monotonic() - began
    found = replay_of(read(path), finished.results)
    hot, order = fidelity(found, "hot"), fidelity(found, "order")
    assert hot is not None, "nothing was replayed"
    return {
        "seconds": seconds,
        "ok": sum(one.result.ok for one in found.calls),
        "all": len(found.calls),
        "hot": hot.total.ratio or 0.0,
        "order": (order.total.ratio or 0.0) if order else 0.0,
        "missing": [f"{call.name}: {reason}" for call, reason in hot.missing],
    }


def predict(model: str, folder: Path) -> str:
    """How many calls of a step are predicted exactly at a size that is then captured."""
    from opbench.capture.reading import read
    from opbench.suites.captured.scale import Unpredictable, capture_at

    probes, unseen = PROBES[model]
    words = [word for axis, size in probes.items() for word in ("--probe", f"{axis}={size}")]
    base, there = folder / "base.jsonl", folder / "there.jsonl"
    capture(model, base, "--stop", *words)
    capture(model, there, "--stop", **unseen)
    known = read(base)
    try:
        predicted = capture_at(known, {a: unseen[a] for a in known.probes})
    except Unpredictable as error:
        return f"refused: {error}"
    actual = read(there)
    pairs = zip(predicted.order, actual.order)
    same = sum(identity(predicted, a.call) == identity(actual, b.call) for a, b in pairs)
    return f"{same} of {len(actual.order)}"


def identity(found: Any, index: int) -> tuple[Any, ...]:
    """What must be equal: the operator, every shape, stride and integer, every result."""
    call = found.calls[index]
    return (call.operator, call.overload, call.signature(),
            [t.steps for t in call.tensors], [o.text for o in call.outputs])  # fmt: skip
