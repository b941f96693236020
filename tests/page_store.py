"""A store with something of everything a page can show: made-up numbers, stored as a run would."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbench.case import Case, Work
from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, Store

NOON = 1_794_744_000.0  # 2026-11-15 12:00 UTC
DAY = 86_400.0

MACHINE: dict[str, Any] = {
    "system": {"machine_id": "a1b2c3d4", "os": "Debian GNU/Linux 12", "kernel": "6.1"},
    "cpu": {"model": "EPYC 9654", "logical_cores": 8, "architecture": "x86_64"},
    "memory": {"total": 64_000_000_000},
    "git": {"dirty": False},
}
FACTS = {
    "machine": {"model": "EPYC 9654", "logical_cores": 8},
    "interpreter": {"version": "3.12.1", "packages": {"torch": "2.13.0", "numpy": "2.4.6"}},
}

#: Names that would be markup if a page took them for it.
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"
NASTY_REASON = "</script><script>document.title='broken'</script>"

SETUP = "torch.manual_seed(seed)\nx = torch.rand({n}, {n})\nw = torch.rand({n}, {n})"


def operator(name: str, n: int, framework: str, stage: str = "forward") -> Case:
    return Case(
        "ops",
        name,
        stage,
        f"y = {name}(x, w)",
        setup=SETUP.format(n=n),
        globals="import torch",
        labels=(("n", n), ("framework", framework)),
        framework=framework,
        dtype="float32",
        preload=("torch",),
        work=Work(flops=2.0 * n**3 if name == "matmul" else float(n * n), bytes=12.0 * n * n),
    )


def layer(name: str, mode: str, batch: int) -> Case:
    return Case(
        "layers",
        name,
        "forward_backward",
        "y = net(x)\nloss = criterion(y, labels)\nloss.backward()",
        labels=(("mode", mode), ("batch_size", batch)),
        framework="torch",
    )


def sampled(
    case: Case,
    value: float,
    rng: random.Random,
    *,
    starts: int = 4,
    count: int = 8,
    noise: float = 0.004,
    layout: float = 0.003,
    metric: str = "time",
    group: str = "",
    **more: Any,
) -> Result:
    samples = []
    for start in range(starts):
        level = value * (1 + layout * rng.gauss(0, 1))
        for order in range(count):
            disturbed = rng.random() < 0.03
            wild = 1 + noise * abs(rng.gauss(0, 1)) + (0.05 if disturbed else 0)
            samples.append(
                Sample(level * wild, start, 0, order, 100, 1, 1, int(disturbed), disturbed)
            )
    detail = {
        "way": "repeatable", "stopped": "precision", "starts": starts, "sessions": starts,
        "design": "paired" if group else "", "calls_per_block": [100] * starts, "settled": True,
        "seconds": 1.25, "within": noise / 3, "between": layout, "layout": 0.0115,
    }  # fmt: skip
    return Result(
        case.hash, metric, "s", estimate=value * 1.003, low=value * 0.993, high=value * 1.013,
        samples=tuple(samples), detail=detail, fingerprint="f1", policy="adaptive ±2%",
        group=group, created=NOON, **more,
    )  # fmt: skip


def memory(case: Case, value: float) -> Result:
    held = int(value)
    detail = {
        "source": "torch allocator events", "max_memory": held * 2,
        "stages": {"before": held, "after_forward": held * 3 // 2, "after_backward": held * 2},
        "lines": [
            {"source": "y = net(x)", "held": held, "peak": held * 3 // 2},
            {"source": "loss.backward()", "held": held * 2, "peak": held * 2},
        ],
        "components": {"offset": 0, "input_tensor": held // 4, "layer": held // 2,
                       "gradients": held // 2, "per_sample_gradients": held},
    }  # fmt: skip
    samples = (Sample(float(held)), Sample(float(held), order=1))
    return Result(
        case.hash, "memory", "bytes", estimate=held, low=held, high=held, samples=samples,
        detail=detail, fingerprint="f1", created=NOON,
    )  # fmt: skip


def cost(name: str, n: int, framework: str) -> float:
    base = 2.0 * n**3 / 5e10 if name == "matmul" else 12.0 * n * n / 1e10
    overhead = {"torch": 2e-6, "jax": 9e-6, "numpy": 6e-7}[framework]
    return base * {"torch": 1.0, "jax": 0.8, "numpy": 1.3}[framework] + overhead


def operators(rng: random.Random, slower: str = "") -> list[tuple[Case, Result]]:
    pairs = []
    for name in ("matmul", "add", "softmax", "exp"):
        for n in (64, 128, 256, 512, 1024):
            for framework in ("torch", "jax", "numpy"):
                case = operator(name, n, framework)
                value = cost(name, n, framework)
                if name == slower and framework == "torch":
                    value *= 1.12
                if name == "exp" and framework == "numpy":
                    value *= 0.93 if slower else 1
                pairs.append((case, sampled(case, value, rng)))
    return pairs


def awkward(rng: random.Random) -> list[tuple[Case, Result]]:
    """Failures, warnings, and names that try to be markup."""
    nasty = Case("ops", NASTY, "call", "pass", labels=(("<b>axis</b>", '"><svg onload=alert(3)>'),))
    crash = Case("ops", "crash", "call", "boom()")
    absent = Case("ops", "absent", "forward", "f()", framework="mxnet")
    failed = Case("ops", "fails", "call", "1 / 0")
    wide = sampled(nasty, 3e-6, rng, noise=0.2)
    wide = replace(
        wide,
        low=2e-6,
        high=4e-6,
        warnings=(
            Warning("imprecise", "±33% where ±2% was asked: <i>quiet</i> the machine"),
            Warning("contended", "40% of the blocks were disturbed by other programs; close them"),
        ),
    )
    return [
        (nasty, wide),
        (crash, Result(crash.hash, "time", "s", "crashed", "SIGSEGV", fingerprint="f1")),
        (
            absent,
            Result(
                absent.hash, "time", "s", "unsupported", "mxnet is not installed", fingerprint="f1"
            ),
        ),
        (
            failed,
            Result(
                failed.hash,
                "time",
                "s",
                "failed",
                NASTY_REASON,
                detail={"traceback": "Traceback:\n  <b>1 / 0</b>\nZeroDivisionError"},
                fingerprint="f1",
            ),
        ),
    ]


def layers(rng: random.Random) -> list[tuple[Case, Result]]:
    pairs = []
    factors = {"linear": 1.9, "conv": 3.4, "lstm": 6.2, "embedding": 1.4}
    for name, factor in factors.items():
        for batch in (16, 64, 256):
            for mode, times in (("baseline", 1.0), ("hooks", factor), ("ghost", 1 + factor / 4)):
                case = layer(name, mode, batch)
                value = 4e-5 * math.sqrt(batch) * times
                pairs.append((case, sampled(case, value, rng, group=f"{name}{batch}")))
                pairs.append((case, memory(case, 8e5 * batch * times)))
    return pairs


def begin(store: Store, number: int, name: str, **more: Any) -> str:
    run_id = f"{20261115 + number:08d}-120000-{number:04x}"
    store.begin_run(
        RunRecord(
            run_id, name, created=NOON + number * DAY, version="0.1.0", machine=MACHINE,
            commit=f"{number:02x}" * 20, command=f"opbench run ops --name {name}", **more,
        )
    )  # fmt: skip
    store.add_environment("f1", FACTS)
    return run_id


def fill(path: Path, nights: int = 12) -> None:
    """Nights of operators with a change in the middle; then one night of layers."""
    with Store.open(path) as store:
        for number in range(nights):
            rng = random.Random(number)
            slower = "softmax" if number >= nights // 2 else ""
            run_id = begin(store, number, f"night {number}")
            last = number == nights - 1
            slower = "add" if last else slower
            store.add_results(run_id, operators(rng, slower) + (awkward(rng) if last else []))
            store.finish_run(run_id)
        limits = begin(store, nights, "peaks", request={"targets": ["peaks"]})
        store.add_results(limits, peaks(random.Random(1)))
        store.finish_run(limits)
        run_id = begin(store, nights + 1, "layers", request={"baseline": "mode=baseline"})
        store.add_results(run_id, layers(random.Random(2)))
        store.finish_run(run_id)


def peaks(rng: random.Random) -> list[tuple[Case, Result]]:
    product = Case("peaks", "matmul", "call", "x @ w", dtype="float32", work=Work(1e9, 1e6))
    copy = Case("peaks", "copy", "call", "y.copy_(x)", dtype="float32", work=Work(0.0, 1e8))
    return [(product, sampled(product, 1e9 / 6e10, rng)), (copy, sampled(copy, 1e8 / 1.2e10, rng))]
