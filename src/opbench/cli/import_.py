"""`opbench import FILE`: results of other tools, as runs of the store."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from opbench.cli.options import run_option


def import_(
    files: list[Path] = typer.Argument(
        ...,
        metavar="FILE...",
        help="JSON of opbench, pyperf (also .json.gz), pytest-benchmark, Google Benchmark, asv, "
        "hyperfine, nvbench or criterion; pickles of the Opacus layer benchmarks. A folder "
        "stands for all results of asv or criterion in it.",
    ),
    name: str = typer.Option("", help="A name for the run. [default: the file's]"),
    store: str = run_option("store"),
) -> None:
    """Import results of other tools, or an export of opbench.

    Each file becomes a run; files that one Opacus command wrote, or one `target/criterion` holds,
    become one run. They are read, never executed. Imported runs can be listed, compared, exported
    and reported like others.
    """
    from opbench.errors import plural, printable
    from opbench.imports.file import import_files
    from opbench.store import Store

    with Store.open(store) as opened:
        for record, parts in import_files(opened, files, name):
            benchmarks = sum(len({case.id for case, _ in part.found.pairs}) for part in parts)
            folder = os.path.commonpath([part.path.absolute().parent for part in parts])
            single = len(parts) == 1
            origin = str(parts[0].path) if single else f"{len(parts)} files in {folder}"
            tool = parts[0].found.tool
            count = plural(benchmarks, "benchmark")
            run = printable(record.id)
            typer.echo(f"{origin}: imported {count} of {tool} as run {run}")
            for part in parts:
                if part.found.remark:
                    # It quotes the file, which could steer a terminal.
                    typer.echo(f"{part.path}: {printable(part.found.remark)}", err=True)
