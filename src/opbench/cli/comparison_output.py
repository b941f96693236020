"""Output of comparisons: terminal, Markdown for a pull request, JSON, JUnit for CI."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbench.analyse.compare import Comparison
    from opbench.analyse.gate import Gate


#: What `--format` takes.
FORMATS = ("terminal", "md", "json")


def give(
    comparisons: Sequence[Comparison],
    gate: Gate,
    markdown: Path | None,
    junit: Path | None,
    format: str = "terminal",
) -> int:
    """Print every comparison, write the files asked for; the exit code of the gate."""
    from opbench.analyse.gate import gate_lines
    from opbench.files import writing
    from opbench.report.comparison.json import as_json
    from opbench.report.comparison.junit import as_junit
    from opbench.report.comparison.tables import as_markdown, show

    as_text = "\n".join(as_markdown(comparison) for comparison in comparisons)
    if format == "json":
        print(as_json(comparisons, gate))
    elif format == "md":
        print(as_text)
    else:
        for comparison in comparisons:
            show(comparison)
    for path, text in ((markdown, as_text), (junit, as_junit(comparisons, gate))):
        if path is not None:
            with writing(path) as partial:
                partial.write_text(text, encoding="utf-8", errors="replace")
    if format != "json":
        for line in gate_lines(comparisons, gate):
            print(line)
    return gate.exit_code(comparisons)


def check_files(*paths: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is measured."""
    from opbench.errors import UserError

    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            why = "it is a folder" if path.is_dir() else f"folder not found: {path.parent}"
            raise UserError(f"cannot write {path}: {why}")
