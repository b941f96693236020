"""Runs the commands of docs/sweeps.md, capture-api.md, layers.md and instruction-counts.md and
replaces their output.

    python docs/build_examples.py        # a few minutes, on a quiet machine: the pages show times
    python docs/build_examples.py api    # one of sweeps, api, layers, counts, regression

In a page, the output is between `<!-- output: NAME -->` and `<!-- end -->`. The examples run in a
copy of docs/examples, so they leave no files behind.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
WIDTH = "110"


def opbench(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "opbench.cli.main", *words],
        cwd=cwd, capture_output=True, text=True, env={**os.environ, "COLUMNS": WIDTH},
    )  # fmt: skip
    if done.returncode not in (0, 1):  # 1: a case failed, as the page shows
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def block(text: str, language: str = "text") -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "\n".join([f"```{language}", *lines, "```"])


def first_rows(path: Path, count: int = 8) -> str:
    """Summary and longest kernels at one point, for two runtimes, in a few columns."""
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    shown = ["row", "tokens", "dtype", "runtime", "forward_median", "backward_median",
             "stage", "kernel", "calls", "mean"]  # fmt: skip
    last = [r for r in rows if r["tokens"] == "256" and r["dtype"] == "fp32"]
    kept = [r for r in last if r["row"] == "summary" or r["stage"] == "forward"]
    text = [",".join(shown)]
    for runtime in ("pt", "ort"):
        own = [r for r in kept if r["runtime"] == runtime][: count // 2 + 1]
        text += [",".join(row[name] for name in shown) for row in own]
    return "\n".join(text)


def sweeps(here: Path) -> dict[str, str]:
    outputs = {"sweep-file": block((here / "ffn.toml").read_text(), "toml")}
    outputs["sweep-run"] = block(opbench("run", "ffn.toml", cwd=here))
    outputs["sweep-csv"] = block(first_rows(here / "ffn.csv"))
    shutil.copy(here / "ffn.png", DOCS / "results" / "sweep_ffn.png")
    outputs["sweep-chart"] = "![Time against each dim](results/sweep_ffn.png)"
    outputs["sweep-mismatch"] = block(opbench("run", "normed.toml", "--no-save", cwd=here))
    return outputs


def first_lines(text: str, count: int = 24) -> str:
    lines = text.strip("\n").splitlines()
    return "\n".join([*lines[:count], "…", lines[-1]])


def api(here: Path) -> dict[str, str]:
    level = ("capture", "--level", "api", "--function", "__main__:accuracy")
    opbench(*level, "-o", "calls.jsonl", "calls.py", cwd=here)
    only = ("-k", "Linear-", "-k", "layer_norm-")
    return {
        "api-show": block(first_lines(opbench("show", "calls.jsonl", cwd=here))),
        "api-run": block(opbench("run", "calls.jsonl", *only, cwd=here)),
    }


def layers(here: Path) -> dict[str, str]:
    """Of a model's step, what follows the table of all cases."""
    own = ("run", "layers", "my_layers.py", "-a", "layer=lora,lora_nn,rmsnorm,rmsnorm_nn")
    own += ("-a", "batch_size=32", "-a", "rank=4", "-a", "mode=baseline,hooks,vmapped")
    opbench(*own, "--metric", "memory", cwd=here)
    reported = opbench("report", "layers", cwd=here)
    model = opbench("layers", "--model", "my_model.py:cnn", "--batch-sizes", "32", cwd=here)
    return {
        "layers-file": block((here / "my_layers.py").read_text(), "python"),
        "layers-own": block(reported),
        "layers-model": block(model[model.index("one step of") :]),
    }


def counts(here: Path) -> dict[str, str]:
    """One case by function and by library."""
    case = "snippets/math.multiply[language=python,runtime=eager]/forward"
    opbench("run", "snippets", "-k", case, "--metric", "instructions", cwd=here)
    functions = opbench("show", case, "--functions", cwd=here)
    libraries = opbench("show", case, "--functions", "--raw", "--group", r"\[(.*)\]", cwd=here)
    return {
        "counts-functions": block(cut(functions, 8)),
        "counts-libraries": block(libraries),
    }


def regression(here: Path) -> dict[str, str]:
    """A C++ extension before and after a change, and the functions to blame."""
    sides = ("before", "after")
    for side in sides:
        subprocess.run([sys.executable, "-m", "venv", side], cwd=here, check=True)
        pip = [f"{side}/bin/pip", "install", "-q", "./rle"]
        subprocess.run(pip, cwd=here, check=True)
        if side == "before":
            patch = ["patch", "-d", "rle", "-p1", "-i", "slower.patch"]
            subprocess.run(patch, cwd=here, check=True, stdout=subprocess.DEVNULL)
    envs = [word for side in sides for word in ("--env", f"./{side}")]
    gate = ("--functions", "--fail-on", "slower:1%", "--markdown", "comment.md")
    compared = opbench("ab", "bench_rle.py", *envs, "--metric", "instructions", *gate, cwd=here)
    return {"counts-rle": block(cut(compared, 10))}


def cut(text: str, count: int) -> str:
    """Up to the first so many functions of the first table of them, and its total."""
    lines = text.strip("\n").splitlines()
    head = next(n for n, line in enumerate(lines) if line.rstrip().endswith(" function"))
    total = next(n for n, line in enumerate(lines) if "total per call" in line)
    return "\n".join([*lines[: head + 2 + count], "  …", lines[total]])


PAGES = {
    "sweeps": (sweeps, "sweeps.md"),
    "api": (api, "capture-api.md"),
    "layers": (layers, "layers.md"),
    "counts": (counts, "instruction-counts.md"),
    "regression": (regression, "instruction-counts.md"),
}


def main(wanted: list[str]) -> None:
    for name in wanted or PAGES:
        make, page = PAGES[name][0], DOCS / PAGES[name][1]
        with tempfile.TemporaryDirectory() as folder:
            for file in (DOCS / "examples").iterdir():
                if file.is_file():
                    shutil.copy(file, folder)
                elif file.name == "rle":
                    shutil.copytree(file, Path(folder, "rle"))
            outputs = make(Path(folder))
        text = page.read_text(encoding="utf-8")
        for part, output in outputs.items():
            place = re.compile(rf"<!-- output: {part} -->\n.*?<!-- end -->", re.DOTALL)
            put = f"<!-- output: {part} -->\n{output}\n<!-- end -->"
            text = place.sub(lambda _found, put=put: put, text)
        page.write_text(text, encoding="utf-8")
        print(f"{page.name} written")


if __name__ == "__main__":
    main(sys.argv[1:])
