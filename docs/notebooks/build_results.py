"""Builds and executes docs/notebooks/results.ipynb in a real kernel.

    python docs/notebooks/build_results.py

The cells are below. The notebook measures what it shows: it needs numpy, about half a minute, and a
quiet machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

CELLS: list[tuple[str, str]] = [
    (
        "markdown",
        "# Results in a notebook\n\n"
        "Measure, compare and plot: the objects of `opbench` display themselves. Everything here "
        "was measured when this notebook was executed.",
    ),
    (
        "code",
        "import opbench as ob",
    ),
    (
        "markdown",
        "Benchmarks are in a separate file, because they run in separate processes.",
    ),
    (
        "code",
        "%%writefile bench_numpy.py\n"
        "import numpy as np\n\nimport opbench as ob\n\n\n"
        '@ob.bench(n=[64, 128, 256, 512], dtype=["float32", "float64"])\n'
        "def matmul(n, dtype):\n"
        "    a = np.random.rand(n, n).astype(dtype)\n"
        "    yield lambda: a @ a\n\n\n"
        "@ob.bench(n=[64, 128, 256, 512])\n"
        "def softmax(n):\n"
        "    x = np.random.rand(n, n)\n"
        "    yield lambda: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)",
    ),
    ("markdown", "`ob.run` measures the file and returns a table; each result is stored at once."),
    ("code", 'ob.run("bench_numpy.py", name="before", max_time_per_case="{seconds}s")'),
    ("markdown", "## As a DataFrame\n\n`ob.load()` returns everything in the store."),
    (
        "code",
        "frame = ob.load()\n"
        'frame[["benchmark", "label.n", "label.dtype", "estimate", "low", "high", "n_samples"]]',
    ),
    (
        "code",
        'frame.pivot(index="label.n", columns=["benchmark", "label.dtype"], values="estimate")'
        " * 1e6  # µs",
    ),
    (
        "markdown",
        "## Change the code and compare\n\n`softmax` computes `np.exp(x)` twice. Once is enough:",
    ),
    (
        "code",
        "from pathlib import Path\n\n"
        'file = Path("bench_numpy.py")\n'
        'twice = "np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)"\n'
        'once = "(lambda e: e / e.sum(axis=-1, keepdims=True))(np.exp(x))"\n'
        "file.write_text(file.read_text().replace(twice, once))\n\n"
        'ob.run("bench_numpy.py", name="after", max_time_per_case="{seconds}s");',
    ),
    ("code", 'compared = ob.compare("before", "after")\ncompared'),
    ("code", "compared.chart()"),
    (
        "markdown",
        "The two runs were measured one after the other, so a small difference stays *unknown*; "
        "`opbench ab` measures two versions interleaved and detects smaller differences.\n\n"
        "## The whole run\n\nA page has charts, and can be saved as one HTML file to share.",
    ),
    ("code", 'page = ob.page("after")\ncharts = page.charts()\nsorted(charts)'),
    ("code", 'charts["scaling_time_bench_numpy_matmul"]'),
    ("markdown", "The samples of one case, one row per worker start:"),
    ("code", 'page.samples("softmax[n=256]")'),
    ("code", 'page.save("report.html").stat().st_size > 50_000'),
    ("markdown", "## Over time"),
    ("code", 'ob.history("softmax[n=256]")'),
]


def notebook(seconds: str = "1"):
    """The notebook without outputs."""
    import nbformat

    cells = []
    for number, (kind, source) in enumerate(CELLS):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        cells.append(make(source.replace("{seconds}", seconds), id=f"cell-{number}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed(seconds: str, folder: Path):
    """The notebook with its outputs; an exception in a cell ends it."""
    from nbclient import NotebookClient

    built = notebook(seconds)
    client = NotebookClient(
        built,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        # Times of execution would change with every build.
        record_timing=False,
    )
    client.execute()
    built.metadata["language_info"] = {"name": "python", "version": sys.version.split()[0]}
    return built


def main() -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        built = executed("1", Path(folder))
    target = HERE / "results.ipynb"
    target.write_text(nbformat.writes(built) + "\n", encoding="utf-8")
    print(f"{target.name}: {len(built.cells)} cells, executed")


if __name__ == "__main__":
    main()
