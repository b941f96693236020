"""Measures operators of all frameworks, and writes the results to docs/results.

    python -m perf.operators_results cpu --minutes 60     # torch, JAX, ONNX Runtime, MXNet, NumPy
    python -m perf.operators_results cuda --minutes 40    # torch and JAX, on this machine's GPU

Several runs in one store: every framework forward, those with gradients forward and backward, the
size classes, and fused operators with their parts. Each run gets a share of `--minutes`, and the
reports show the precision that this allowed. Interrupted, the same command with the same `--store`
goes on where it was.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from opbench.store import Store

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
OPBENCH = [sys.executable, "-m", "opbench.cli.main"]

#: A selection for the size classes: all operators would fill the page, and large ones take long.
SIZED = (
    "add", "exp", "power", "iadd", "greater", "zeros", "random_normal", "sum", "sort", "dot",
    "batch_dot", "linalg_potrf", "transpose", "concat", "take", "FullyConnected", "Embedding",
    "softmax", "Conv2D", "MaxPool2D", "BatchNorm", "LayerNorm", "softmax_cross_entropy", "LSTM",
    "adam",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One run, and its share of the time."""

    name: str
    share: float
    words: tuple[str, ...]


def axis(name: str, *values: str) -> tuple[str, str]:
    return "-a", f"{name}={','.join(values)}"


def parts(where: str) -> list[Part]:
    every = {
        "cpu": ("torch", "jax", "onnxruntime", "mxnet", "numpy"),
        "cuda": ("torch", "jax"),
    }[where]
    # On a GPU each child opens a context, and JAX compiles anew in it: forward alone takes 20 min.
    back = {"cpu": ("torch", "jax", "mxnet"), "cuda": ("torch",)}[where]
    joined = tuple(name for name in every if name != "numpy")
    # The fused operator and its parts alternate, so that the machine disturbs all alike.
    together = ("--stage", "forward", "--baseline", "form=fused")
    fused = (*axis("category", "fused"), *together)
    # Each child compiles anew, however small the budget: one size is enough.
    compiled = Part("compiled", 0.06, (*fused, *axis("framework", "torch_compile")))
    return [
        Part("forward", 0.37, (*axis("framework", *every), "--stage", "forward")),
        Part("training", 0.27, (*axis("framework", *back), "--stage", "forward_backward")),
        Part(
            "sizes", 0.2,
            (
                *axis("op", *SIZED), *axis("size", "small", "large", "skewed"),
                *axis("framework", *every), "--stage", "forward",
            ),
        ),
        Part(
            "fused", 0.1,
            (*fused, *axis("framework", *joined), *axis("size", "small", "typical")),
        ),
        compiled,
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.operators_results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("where", choices=["cpu", "cuda"])
    parser.add_argument("--minutes", type=float, default=60.0, help="for all runs together")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the files")
    parser.add_argument("--name", default="", help="of the files; operators_cpu or operators_cuda")
    parser.add_argument("--store", default="", help="keep the results in this store")
    parser.add_argument(
        "--only", default="", help="parts, comma-separated: forward,training,sizes…"
    )
    parser.add_argument("--keep", default="", help="only cases whose id contains this, to try it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"{folder}/operators.db"
        wanted = options.only.split(",") if options.only else []
        chosen = [part for part in parts(options.where) if not wanted or part.name in wanted]
        total = sum(part.share for part in chosen)
        for part in chosen:
            seconds = options.minutes * 60 * part.share / total
            measure(part, options.where, store, seconds, options.keep)
        runs = [f"operators-{part.name}" for part in chosen]
        report(runs, options.out, options.name or f"operators_{options.where}", store)


#: Each child opens a context of its own on the GPU, which takes longer than its samples: two starts
#: instead of three. How much device times scatter between starts is learnt from all cases together.
ON_CUDA = ("--device", "cuda", "--max-starts", "2")


def measure(part: Part, where: str, store: str, seconds: float, keep: str) -> None:
    name = f"operators-{part.name}"
    begun = False
    if Path(store).exists():
        with Store.open(store, create=False) as opened:
            begun = name in {run.name for run in opened.runs()}
    command = [
        *(*OPBENCH, "run", "ops", *part.words, "--store", store, "--name", name),
        *("--budget", f"{seconds:.0f}s"),
        *(ON_CUDA if where == "cuda" else ()),
        *(("-k", keep) if keep else ()),
        *(("--cont", "--yes") if begun else ()),
    ]
    print(f"== {part.name}: {' '.join(command[3:])}", flush=True)
    done = subprocess.run(command, check=False)  # a case that failed is a result
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)


def report(runs: list[str], out: Path, name: str, store: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for format in ("csv", "md"):
        path = out / f"{name}.{format}"
        words = [*OPBENCH, "report", "ops", *runs, "-f", format, "-o", str(path), "--store", store]
        subprocess.run(words, check=True)
        # Its commands name the store, and thereby a folder of this machine.
        text = path.read_text(encoding="utf-8").replace(store, "RESULTS.db")
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.name}", flush=True)


if __name__ == "__main__":
    main()
