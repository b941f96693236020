"""Notebooks: run as a script, and the cell magic `%%opbench_capture FILE`."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

from opbench.capture.record import DEFAULT_FILE, record

#: Cell magics around Python that changes the notebook's names: the cell runs, the magic does not.
AROUND_PYTHON = frozenset({"%%time", "%%capture", "%%prun", "%%opbench_capture"})
#: Lines of a notebook, in the order in which they are tried: `%time STATEMENT`; `x = !ls` and
#: `x = %pwd`; other magics and commands, and questions (`model?`).
LINES = (
    (re.compile(r"^(\s*)%time +(?=\S)"), r"\1"),
    (re.compile(r"^(\s*[\w.]+ *= *)(?:!|%(?=[A-Za-z])).*$"), r"\1None"),
    (re.compile(r"^(\s*)(?:[%!?].*|[\w.]+\?\??\s*)$"), r"\1pass"),
)


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
            first, _, source = source.lstrip().partition("\n")
            magic = first.split()[0]
            if magic not in AROUND_PYTHON:
                print(f"opbench: skipped a {magic} cell", file=sys.stderr)
                continue
        found.append(as_python(source))
    return found


def as_python(source: str) -> str:
    """A cell without the lines that only a notebook understands. One that is Python as it stands
    stays as it is: there, `%` begins the second line of a division."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return "\n".join(plain_line(line) for line in source.split("\n"))
    return source


def plain_line(line: str) -> str:
    for pattern, replacement in LINES:
        plain = pattern.sub(replacement, line)
        if plain != line:
            return plain
    return line


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext opbench`: adds the cell magic, which records what the cell runs."""

    def opbench_capture(line: str, cell: str) -> None:
        with record(line.strip() or DEFAULT_FILE):
            shell.run_cell(cell).raise_error()

    shell.register_magic_function(opbench_capture, magic_kind="cell")
