"""Writes measured layer results to docs/results/*.csv, and as tables to docs/layers.md.

    python -m perf.layers_results cpu [--measure]   # the CPU file; --measure measures it first
    python -m perf.layers_results cuda [FOLDER/layers_cuda.csv]

The CPU file is the classic selection (24 names) at batch sizes 16 and 64, adaptive; the CUDA file
is what `perf.gpu_layers` wrote.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from opbench.report.table import Table, markdown
from opbench.suites.layers.csv_file import read
from opbench.suites.layers.factors import LayerRow
from opbench.suites.layers.factors_published import Published, published
from opbench.suites.layers.names import LAYERS
from opbench.suites.layers.report import factor_table, published_table, values_table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "layers.md"
RESULTS = ROOT / "docs" / "results"
TITLES = {"cpu": "On a CPU", "cuda": "On a GPU"}
#: The time that a table shows, in order of preference.
TIMES = ("time", "host_time")
#: How long the device works, which is not how long the caller waits.
DEVICE_TIMES = (
    ("device_time", "Device time"),
    ("device_time_cold", "Device time with a cold cache"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.layers_results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("where", choices=list(TITLES))
    parser.add_argument("file", nargs="?", type=Path, help="a CSV file to copy to docs/results")
    parser.add_argument("--measure", action="store_true", help="measure on this CPU first")
    parser.add_argument("--layers", default="", help="with --measure: only these, comma-separated")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / f"layers_{options.where}.csv"
    if options.measure:
        measure_cpu(kept, options.layers)
    elif options.file is not None:
        shutil.copyfile(options.file, kept)
    rows, notes = read(kept)
    insert(options.where, text(options.where, rows, notes, kept))


#: Seconds per step on a CPU: run last, so that the other layers are done if it is interrupted.
SLOW = ("conv",)


def measure_cpu(kept: Path, layers: str) -> None:
    wanted = layers.split(",") if layers else list(LAYERS)
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/layers.db"
        opbench = [sys.executable, "-m", "opbench.cli.main"]
        names = []
        for name, some in (
            ("layers", [layer for layer in wanted if layer not in SLOW]),
            ("slow-layers", [layer for layer in wanted if layer in SLOW]),
        ):
            if not some:
                continue
            axes = ["-a", f"layer={','.join(some)}", "-a", "batch_size=16,64"]
            axes += ["-a", "mode=baseline,hooks,functorch,ew,ghost"]
            # A case that failed is a result, and is in the file.
            subprocess.run(
                [*opbench, "run", "layers", "--store", store, "--name", name, *axes], check=False
            )
            names.append(name)
        report = [*opbench, "report", "layers", *names, "--store", store, "-f", "csv"]
        subprocess.run([*report, "-o", str(kept)], check=True)


def text(where: str, rows: Sequence[LayerRow], notes: Sequence[str], kept: Path) -> str:
    steps = [row for row in rows if row.stage == "forward_backward"]
    theirs = published()
    time = next((name for name in TIMES if any(row.metric == name for row in steps)), "time")
    stream = io.StringIO()
    stream.write(f"### {TITLES[where]}\n\nFrom [{kept.name}](results/{kept.name}).\n\n")
    stream.writelines(f"- {note}\n" for note in notes if not note.startswith("sampling"))
    shown = [(time, "Time"), *DEVICE_TIMES, ("max_memory", "Peak memory")]
    for metric, title in shown:
        of_metric = [row for row in steps if row.metric == metric]
        for table in chosen_tables(of_metric, title, theirs):
            write(table, stream)
    return stream.getvalue()


def chosen_tables(rows: Sequence[LayerRow], title: str, theirs: Published) -> list[Table]:
    found = [
        values_table([row for row in rows if row.mode == "baseline"], f"{title}, unwrapped"),
        factor_table(rows, f"{title}, × the same layer unwrapped"),
        factor_table(rows, f"{title}, × the torch.nn layer it replaces", nn=True),
    ]
    if "Device" not in title:  # the study timed the caller
        found.append(
            published_table(rows, theirs, f"{title}, × torch.nn: ours | published in 2021")
        )
    return [table for table in found if table.rows]


def write(table: Table, stream: io.StringIO) -> None:
    stream.write(f"\n**{table.title}**\n\n")
    stream.writelines(f"{line}\n" for line in markdown(table))


def insert(where: str, body: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(rf"<!-- begin {where} -->\n.*?<!-- end {where} -->\n", re.S)
    section = f"<!-- begin {where} -->\n{body.strip()}\n<!-- end {where} -->\n"
    PAGE.write_text(pattern.sub(lambda _: section, page), encoding="utf-8")


if __name__ == "__main__":
    main()
