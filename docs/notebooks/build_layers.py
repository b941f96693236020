"""Builds and executes docs/notebooks/layers.ipynb, without Jupyter.

    python docs/notebooks/build_layers.py [RESULTS.csv]

The cells are below. They run one after the other in one namespace, and their output is stored in
the notebook as Jupyter would store it. Charts are stored as images.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"

CELLS: list[tuple[str, str]] = [
    (
        "markdown",
        "# What per-sample gradients cost\n\n"
        "Results of the suite `layers`: layers of `torch.nn`, their DP versions from Opacus, and "
        "both wrapped for per-sample gradients. The configuration is that of "
        "[arXiv:2109.12298](https://arxiv.org/abs/2109.12298); see [docs/layers.md](../layers.md).",
    ),
    (
        "code",
        "import pandas as pd\n\n"
        "from opbench.suites.layers import charts as layers_charts\n"
        "from opbench.suites.layers.csv_file import read\n"
        "from opbench.suites.layers.factors_published import published\n\n"
        'path = "{path}"\n'
        "rows, environment = read(__import__('pathlib').Path(path))\n"
        'print("\\n".join(environment))',
    ),
    ("markdown", "The same file as a table: one row per layer, mode, batch size and metric."),
    (
        "code",
        'frame = pd.read_csv(path, comment="#")\n'
        'frame.groupby(["metric", "outcome"]).size().unstack(fill_value=0)',
    ),
    ("markdown", "## Time\n\nMilliseconds per step of the unwrapped layers."),
    (
        "code",
        'waited = "host_time" if "host_time" in set(frame["metric"]) else "time"\n'
        'step = frame[frame["stage"] == "forward_backward"]\n'
        'times = step[(step["metric"] == waited) & (step["outcome"] == "ok")]\n'
        'plain = times[times["mode"] == "baseline"]\n'
        '(plain.pivot(index="layer", columns="batch_size", values="estimate") * 1e3).round(3)',
    ),
    ("markdown", "With per-sample gradients: factor over the same layer unwrapped."),
    (
        "code",
        'modes = times[times["factor"].notna()]\n'
        'modes.pivot(index=["layer", "mode"], columns="batch_size", values="factor").round(2)',
    ),
    ("code", "layers_charts.summary(rows, waited)"),
    ("markdown", "## Memory\n\nPeak memory, as a factor over the same layer unwrapped."),
    (
        "code",
        'peaks = step[(step["metric"] == "max_memory") & step["factor"].notna()]\n'
        'peaks.pivot(index=["layer", "mode"], columns="batch_size", values="factor").round(2)',
    ),
    ("code", 'layers_charts.summary(rows, "max_memory")'),
    ("markdown", "Memory of a linear layer by component, in MB:"),
    (
        "code",
        'parts = step[(step["metric"] == "max_memory") & (step["layer"] == "linear")]\n'
        'columns = [name for name in parts if name.startswith("component.")]\n'
        'table = parts.set_index(["mode", "batch_size"])[columns].dropna(axis=1, how="all")\n'
        "(table / 1e6).round(3)  # MB",
    ),
    ("markdown", "## One layer, every mode"),
    ("code", 'layers_charts.layer_chart(rows, "lstm")'),
    ("markdown", "## Compared with the study of 2021\n\nFactors of mode `hooks` over torch.nn."),
    (
        "code",
        "theirs = published()\n"
        "compared = []\n"
        "for row in rows:\n"
        '    other = theirs.factor("time", row.layer, row.mode, row.batch_size)\n'
        '    if row.metric == waited and row.mode == "hooks" and row.factor_nn and other:\n'
        "        ours = round(row.factor_nn.value, 2)\n"
        "        compared.append((row.layer, row.batch_size, ours, round(other, 2)))\n"
        'columns = ["layer", "batch size", "ours", "published"]\n'
        "table = pd.DataFrame(compared, columns=columns)\n"
        'table.pivot(index="layer", columns="batch size")',
    ),
    ("markdown", "## Failed or unsupported, and why"),
    (
        "code",
        'missing = frame[frame["outcome"] != "ok"]\n'
        'missing.groupby(["layer", "mode", "outcome"])["reason"].first().to_frame()',
    ),
]


def main() -> None:
    given = sys.argv[1:]
    path = Path(given[0]).resolve() if given else default()
    root = HERE.parent.parent
    os.chdir(root)  # paths in the notebook are those of the repository
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for number, (kind, source) in enumerate(CELLS):
        source = source.replace("{path}", str(shown))
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            count = sum(each["cell_type"] == "code" for each in cells) + 1
            cell["execution_count"] = count
            cell["outputs"] = executed(source, names, count)
        cells.append(cell)
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "version": sys.version.split()[0]},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    target = HERE / "layers.ipynb"
    target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{target}: {len(cells)} cells, executed on {shown}")


def default() -> Path:
    for name in ("layers_cuda.csv", "layers_cpu.csv"):
        if (RESULTS / name).exists():
            return RESULTS / name
    sys.exit(
        "no results in docs/results; measure some: python -m perf.layers_results cpu --measure"
    )


def executed(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Runs a cell; its printed output, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = represented(value)
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": count,
                "data": data,
                "metadata": {},
            }
        )
    return outputs


def represented(value: Any) -> dict[str, Any]:
    if hasattr(value, "_repr_png_"):
        return {"image/png": b64encode(value.png()).decode(), "text/plain": ["a chart"]}
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", None)
    if html is not None:
        data["text/html"] = html().splitlines(keepends=True)
    return data


if __name__ == "__main__":
    main()
