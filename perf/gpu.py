"""The clocks of a GPU held against tools that measure the same in another way.

    python -m perf.gpu device     # device_time against sums of torch's profiler
    python -m perf.gpu host       # host_time against a plain process, alternated
    python -m perf.gpu graph      # graph_time against triton's do_bench_cudagraph
    python -m perf.gpu capture    # three training steps: captured, replayed in order
    python -m perf.gpu factors    # hooks / baseline of four layers beside Opacus' own runner
    python -m perf.gpu identical  # the same operators on both sides of `opbench ab`
    python -m perf.gpu more       # 2 % more rows against as many as before, by `--baseline`

Each prints a table in Markdown. Needs torch with CUDA; `graph` triton, `capture` transformers,
`factors` opacus.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

from opbench.case import Case
from opbench.worker.metrics.graph_time import CALLS
from opbench.workers.process import Worker
from opbench.workers.session import SessionHandle

TRAIN = Path(__file__).with_name("capture_train.py")
IMPORTS = "import torch\nimport torch.nn.functional as F"
#: Name → (setup, statement, sizes).
WORK = {
    "add": ("x = torch.randn({n}, {n}, device='cuda')", "x + x", (64, 512, 2048, 8192)),
    "exp": ("x = torch.randn({n}, {n}, device='cuda')", "x.exp()", (64, 2048, 8192)),
    "sum": ("x = torch.randn({n}, {n}, device='cuda')", "x.sum()", (64, 2048, 8192)),
    "softmax": ("x = torch.randn({n}, {n}, device='cuda')", "x.softmax(-1)", (128, 2048, 8192)),
    "layernorm": (
        "x = torch.randn({n}, {n}, device='cuda')",
        "F.layer_norm(x, x.shape[-1:])",
        (128, 2048, 8192),
    ),
    "transpose": ("x = torch.randn({n}, {n}, device='cuda')", "x.t().contiguous()", (256, 4096)),
    "sort": ("x = torch.randn({n}, {n}, device='cuda')", "x.sort(-1)", (256, 2048)),
    "gather": (
        "x = torch.randn({n}, 512, device='cuda')\n"
        "i = torch.randint(0, {n}, (4096,), device='cuda')",
        "x[i]",
        (1024, 65536),
    ),
    "matmul": ("x = torch.randn({n}, {n}, device='cuda')", "x @ x", (128, 512, 1024, 2048)),
    "matmul_bf16": (
        "x = torch.randn({n}, {n}, device='cuda', dtype=torch.bfloat16)",
        "x @ x",
        (512, 2048, 4096),
    ),
    "conv2d": (
        "x = torch.randn(16, 64, {n}, {n}, device='cuda')\n"
        "w = torch.randn(64, 64, 3, 3, device='cuda')",
        "F.conv2d(x, w, padding=1)",
        (14, 56),
    ),
    "linear_step": (
        "net = torch.nn.Linear(512, 512, device='cuda')\nx = torch.randn({n}, 512, device='cuda')",
        "net.zero_grad()\nnet(x).sum().backward()",
        (16, 4096),
    ),
    "layernorm_step": (
        "net = torch.nn.LayerNorm(512, device='cuda')\nx = torch.randn({n}, 512, device='cuda')",
        "net.zero_grad()\nnet(x).sum().backward()",
        (16, 4096),
    ),
}
#: What the host waits for: launch-bound, alone, and with a backward pass.
HOST = ("add 64", "linear_step 16", "layernorm_step 16")
PAIRS = 40
STARTS = 8

#: A process without opbench: on each line of input, what one call takes.
PLAIN = """
import gc, json, sys, time
{imports}
gc.disable()  # as every timer has it
torch.manual_seed(0)
works = {{}}
def warm(call, n):
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        call()
        torch.cuda.synchronize()  # or seconds of work pile up, and the clock goes down
    return 0.0
def kernels(call, n):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(n):
            call()
        torch.cuda.synchronize()
    cuda = torch.autograd.DeviceType.CUDA
    spans = [e.time_range for e in profile.events() if e.device_type == cuda]
    return sum(each.elapsed_us() for each in spans) / n / 1e6
def waited(call, n):
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(n):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / n
def graph(call, n):
    # As many calls in the graph as we have, and the median: the first replay uploads the graph.
    import triton.testing
    rep = waited(call, 5) * n * 1e3
    return triton.testing.do_bench_cudagraph(call, rep=rep, return_mode="median") / 1e3
for line in sys.stdin:
    what, setup, statement, n = json.loads(line)
    if setup not in works:
        works.clear()  # as in ours, nothing else lies in the memory, which moves a transposition
        torch.cuda.empty_cache()
        names = {{"torch": torch, "F": F}}
        exec(setup, names)
        works[setup] = names
    exec("def call():\\n" + "".join(f"    {{each}}\\n" for each in statement.splitlines()),
         works[setup])
    call = works[setup]["call"]
    if what != "kernels":  # just before them, it would make the clock of the GPU another one
        warm(call, n)
    print(json.dumps(globals()[what](call, n)), flush=True)
"""


class PlainProcess:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLAIN.format(imports=IMPORTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str, name: str, n: int) -> float:
        setup, statement = work(name)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([what, setup, statement, n]) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate()


def work(name: str) -> tuple[str, str]:
    kind, size = name.split()
    setup, statement, _ = WORK[kind]
    return setup.format(n=size), statement


def case(name: str) -> Case:
    setup, statement = work(name)
    return Case(
        "gpu",
        name.replace(" ", "-"),
        "call",
        statement,
        setup=f"torch.manual_seed(seed)\n{setup}",
        globals=IMPORTS,
        sync="torch.cuda.synchronize()",
        device="cuda",
        framework="torch",
        preload=("torch",),
    )


@contextmanager
def session(worker: Worker, name: str) -> Iterator[tuple[SessionHandle, int]]:
    """A warm child for a case, and the calls of a block."""
    opened = worker.open()
    opened.prepare(case(name), 0, 120)
    calls = int(opened.warm_up(0.1, 0.002, 120)["n"])
    yield opened, calls
    opened.close()


def ours(worker: Worker, name: str, metric: str, blocks: int) -> float:
    with session(worker, name) as (child, calls):
        return median(child.block(metric, calls, 120)["value"] for _ in range(blocks))


def names() -> list[str]:
    return [f"{kind} {size}" for kind, (_, _, sizes) in WORK.items() for size in sizes]


def device(worker: Worker) -> None:
    """In turn, each of the three first, second and last once, because the clock of the GPU moves
    under the larger products; three children against six processes, because those of the same code
    differ as well: by where their memory lies."""
    print("| work | device_time µs | torch's profiler µs, twice | difference |")
    print("|:--|--:|--:|--:|")
    mine: dict[str, list[float]] = defaultdict(list)
    theirs: dict[str, tuple[list[float], ...]] = defaultdict(lambda: ([], []))
    for number in range(3):
        plains = PlainProcess(), PlainProcess()
        for name in names():
            with session(worker, name) as (child, calls):
                n = min(calls, 50)
                for plain in plains:
                    plain.ask("warm", name, n)
                for turn in range(number, number + 3):
                    if turn % 3 == 2:
                        mine[name].append(child.block("device_time", n, 120)["value"])
                    else:
                        theirs[name][turn % 3].append(plains[turn % 3].ask("kernels", name, n))
        for plain in plains:
            plain.close()
    beyond = 0
    for name, found in mine.items():
        a, (b, c) = median(found), (median(each) for each in theirs[name])
        middle = (b + c) / 2
        beyond += abs(a - middle) > (0.02 * middle if middle > 20e-6 else 0.3e-6)
        each = f"{b * 1e6:.2f}, {c * 1e6:.2f}"
        print(f"| {name} | {a * 1e6:.2f} | {each} | {a / middle - 1:+.1%} |", flush=True)
    print(f"\n{len(names())} cases; {beyond} beyond 2 % above 20 µs, or 0.3 µs below.")


def host(worker: Worker) -> None:
    """Several starts of both: starts of the same code differ, above all in a backward pass. Both
    sides of a pair have the same two cores: a core that another guest of the host shares is slower,
    and opbench looks for one that none does."""
    print("| work | host_time µs | plain process µs | ratio of medians | ratios of pairs |")
    print("|:--|--:|--:|--:|:--|")
    plains = [PlainProcess() for _ in range(STARTS)]
    for name in HOST:
        pairs = []
        for plain in plains:
            with session(worker, name) as (child, calls):
                both = two_cores()
                for process in (child.pid, plain.process.pid):
                    confine(process, both)
                for _ in range(PAIRS // STARTS):
                    mine = child.block("host_time", calls, 120)["value"]
                    child.block("device_time", calls, 120)  # as in a run: it must leave no trace
                    child.pause()
                    pairs.append((mine, plain.ask("waited", name, calls)))
        a, b = (median(side) for side in zip(*pairs))
        ratios = sorted(mine / theirs for mine, theirs in pairs)
        middle = f"{ratios[len(ratios) // 4]:.2f} to {ratios[-len(ratios) // 4]:.2f}"
        print(f"| {name} | {a * 1e6:.1f} | {b * 1e6:.1f} | {a / b:.2f} | {middle} |", flush=True)
    for plain in plains:
        plain.close()


def two_cores() -> set[int]:
    """One CPU of each of two cores, at random."""
    cores = {}
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        place = [(topology / name).read_text() for name in ("physical_package_id", "core_id")]
        cores[tuple(place)] = cpu
    return set(random.sample(sorted(cores.values()), 2))


def confine(process: int, cpus: set[int]) -> None:
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cpus)


def graph(worker: Worker) -> None:
    print("| work | graph_time µs | do_bench_cudagraph µs | difference |\n|:--|--:|--:|--:|")
    plain = PlainProcess()
    for name in ("add 64", "add 2048", "softmax 2048", "matmul 128", "matmul 1024", "sum 8192"):
        a, b = ours(worker, name, "graph_time", 5), plain.ask("graph", name, CALLS)
        print(f"| {name} | {a * 1e6:.2f} | {b * 1e6:.2f} | {a / b - 1:+.1%} |", flush=True)
    plain.close()


#: Model → arguments of the script: sizes that keep the GPU busy, and some that do not.
CAPTURES = {
    "gpt2": (),
    "resnet": ("--batch", "128", "--size", "224"),
    "lstm": ("--batch", "256", "--size", "128"),
}


def capture(_worker: Worker) -> None:
    for model, words in CAPTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            opbench = [sys.executable, "-m", "opbench"]
            train = [str(TRAIN), model, *words, "--device", "cuda", "--steps", "25"]
            path = str(Path(folder) / f"{model}.jsonl")
            commands: list[list[str]] = [
                [*opbench, "capture", "--steps", "10", "-o", path, *train],
                [*opbench, "run", path, "--no-save"],
            ]
            print(f"\n{model} {' '.join(words)}\n", flush=True)
            for command in commands:
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
                print(done.stdout, flush=True)
            header: dict[str, Any] = json.loads(Path(path).read_text().splitlines()[0])
            plain = header["step_seconds"]
            print(f"recorded step / plain step: {header['captured_seconds'] / plain:.2f}")
            alone = header.get("device_step_seconds")
            ratio = f"{alone / plain:.2f}" if alone else "it launched something else"
            print(f"step whose GPU times these are / plain step: {ratio}", flush=True)


LAYERS = ("linear", "layernorm", "groupnorm", "embedding")
BATCH_SIZES = ("16", "64", "512")
MODES = ("baseline", "hooks")
#: Layer, batch size, mode.
Step = tuple[str, str, str]
ROUNDS = 2


def factors(_worker: Worker) -> None:
    """Opacus' runner goes before ours in each round: the host moves from minute to minute."""
    sides: dict[str, dict[Step, list[float]]] = {"opbench": {}, "Opacus": {}}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            root, store = Path(folder) / f"opacus-{number}", Path(folder) / f"opbench-{number}.db"
            for side, found in (("Opacus", by_opacus(root)), ("opbench", by_opbench(store))):
                for key, seconds in found.items():
                    sides[side].setdefault(key, []).append(seconds)
    print("| layer, batch | opbench: baseline; hooks in µs, factor | Opacus' runner | factors |")
    print("|:--|:--|:--|--:|")
    ratios = []
    for layer, size in ((layer, size) for layer in LAYERS for size in BATCH_SIZES):
        cells: list[str] = []
        factor: list[float] = []
        for times in sides.values():
            base, hooks = (times.get((layer, size, mode), []) for mode in MODES)
            factor.append(median(hooks) / median(base) if base and hooks else float("nan"))
            texts = [", ".join(f"{each * 1e6:.0f}" for each in side) for side in (base, hooks)]
            cells.append(f"{'; '.join(texts)}: {factor[-1]:.2f}")
        ratios.append(factor[0] / factor[1])
        print(f"| {layer} {size} | {' | '.join(cells)} | {ratios[-1]:.2f} |")
    within = sum(0.9 <= each <= 1.1 for each in ratios)
    print(f"\n{within} of {len(ratios)} within 10 %.", flush=True)


def by_opacus(root: Path) -> dict[Step, float]:
    """Seconds of a step by Opacus' own runner: the mean of the first twenty after two."""
    from opbench.compat.layer_pickles import get_path, load_results

    root.mkdir()
    config = resources.files("opbench.data").joinpath("layers.json")
    command = [
        *(sys.executable, "-m", "benchmarks.run_benchmarks", "-c", str(config)),
        *("--layers", *LAYERS, "--batch_sizes", *BATCH_SIZES, "--num_runs", "3"),
        *("--num_repeats", "20", "--root", f"{root}/"),
    ]
    subprocess.run(command, check=True, capture_output=True)

    def seconds(layer: str, size: str, mode: str) -> float:
        path = get_path(layer, int(size), 3, 20, mode, root=f"{root}/")
        return median(each["runtime"] for each in load_results(path)["results"])

    keys = [(layer, size, mode) for layer in LAYERS for size in BATCH_SIZES for mode in MODES]
    return {key: seconds(*key) for key in keys}


def by_opbench(store: Path) -> dict[Step, float]:
    from opbench.store import Store

    command = [
        *(sys.executable, "-m", "opbench", "run", "layers", "--device", "cuda"),
        *("-a", f"layer={','.join(LAYERS)}", "-a", f"batch_size={','.join(BATCH_SIZES)}"),
        *("-a", "mode=baseline,hooks", "--baseline", "mode=baseline", "--metric", "host_time"),
        *("--max-time-per-case", "2s", "--store", str(store)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with Store.open(store, create=False) as opened:
        return {
            (each.case.name, str(each.case.axes["batch_size"]), str(each.case.axes["mode"])): float(
                each.result.estimate or "nan"
            )
            for each in opened.results(metric="host_time", outcome="ok")
        }


#: Thirty operators, forward and with their backward: sixty pairs.
IDENTICAL = (
    "add", "mul", "exp", "sqrt", "tanh", "sigmoid", "relu", "softmax", "log_softmax", "sum",
    "mean", "max", "norm", "dot", "batch_dot", "transpose", "concat", "stack", "take", "gather_nd",
    "where", "clip", "LayerNorm", "BatchNorm", "Conv2D", "MaxPool2D", "FullyConnected", "Embedding",
    "softmax_cross_entropy", "broadcast_add", "abs",
)  # fmt: skip


def identical(_worker: Worker) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "opbench", "ab", "ops", "--device", "cuda"),
            *("-a", f"op={','.join(IDENTICAL)}", "-a", "framework=torch", "--env", "current"),
            *("--env", "current", "--metric", "device_time", "--max-time-per-case", "2s"),
            *("--stage", "forward,forward_backward"),
            *("--store", str(Path(folder) / "results.db")),
        ]
        subprocess.run(command)  # ten minutes: what is measured shows at once


#: Rows of 8192 floats: 256 MB, and 2 % more.
MORE = """
import torch
import torch.nn.functional as F
import opbench as ob

WORK = {
    "add": lambda x: x + x, "mul": lambda x: x * 2, "exp": torch.exp, "sqrt": torch.sqrt,
    "tanh": torch.tanh, "relu": F.relu, "gelu": F.gelu, "clamp": lambda x: x.clamp(0, 1),
    "sum": lambda x: x.sum(-1), "max": lambda x: x.amax(-1), "mean": lambda x: x.mean(-1),
    "softmax": lambda x: x.softmax(-1), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "copy": torch.clone, "half": lambda x: x.half(), "where": lambda x: torch.where(x > 0, x, 0.0),
    "cumsum": lambda x: x.cumsum(-1), "flip": lambda x: x.flip(-1), "abs": torch.abs,
    "cat": lambda x: torch.cat([x, x]),
}

def inputs(op, rows, device):
    return WORK[op], torch.randn(rows, 8192, device=device)

@ob.bench(inputs=inputs, op=list(WORK), rows=[8192, 8356], stages=["forward"])
def work(function, x):
    return function(x)
"""


def more(_worker: Worker) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench_more.py"
        path.write_text(MORE)
        opbench = (sys.executable, "-m", "opbench")
        store = ("--store", str(Path(folder) / "results.db"))
        measured = ("--device", "cuda", "--metric", "device_time", "--baseline", "rows=8192")
        for command in (
            (*opbench, "run", str(path), *measured, "--max-time-per-case", "2s", *store),
            (*opbench, "compare", "last", "--col", "rows", *store),
        ):
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            print(done.stdout, flush=True)


FIGURES = {
    "device": device,
    "host": host,
    "graph": graph,
    "capture": capture,
    "factors": factors,
    "identical": identical,
    "more": more,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figure", nargs="+", choices=FIGURES)
    parser.add_argument("--models", nargs="+", choices=CAPTURES, default=list(CAPTURES))
    options = parser.parse_args()
    for model in set(CAPTURES) - set(options.models):
        del CAPTURES[model]
    worker = Worker(sys.executable, ("torch",))
    for figure in options.figure:
        FIGURES[figure](worker)
        print(flush=True)
    worker.close()


if __name__ == "__main__":
    main()
