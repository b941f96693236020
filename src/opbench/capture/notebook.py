"""Notebooks: run as a script, and the cell magic `%%opbench_capture FILE`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from opbench.capture.record import DEFAULT_FILE, record


def run_notebook(path: str) -> None:
    """The code cells of a notebook, one after the other, as `__main__`."""
    import __main__

    names = vars(__main__)
    for number, source in enumerate(cells_of(path), 1):
        exec(compile(source, f"{path} cell {number}", "exec"), names)


def cells_of(path: str) -> list[str]:
    """The source of each code cell, without the lines that only a notebook understands."""
    try:
        cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"opbench: {path} is not a notebook") from None
    found = []
    for source in code:
        if source.lstrip().startswith("%%"):
            first, _, rest = source.lstrip().partition("\n")
            if not first.startswith("%%opbench_capture"):
                print(f"opbench: skipped a cell of {first.split()[0]}", file=sys.stderr)
                continue
            source = rest
        lines = [re.sub(r"^(\s*)[%!?].*$", r"\1pass", line) for line in source.split("\n")]
        found.append("\n".join(lines))
    return found


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext opbench`: adds the cell magic, which records what the cell runs."""

    def opbench_capture(line: str, cell: str) -> None:
        with record(line.strip() or DEFAULT_FILE):
            shell.run_cell(cell).raise_error()

    shell.register_magic_function(opbench_capture, magic_kind="cell")
