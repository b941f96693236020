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
    """Print every comparison, write the files asked for; 1 if the gate fails, else 0."""
    from opbench.errors import plural
    from opbench.files import writing
    from opbench.report.comparison import as_markdown, show
    from opbench.report.comparison_json import as_json
    from opbench.report.junit import as_junit

    as_text = "\n".join(as_markdown(comparison) for comparison in comparisons)
    failed = sum(gate.fails(row) for comparison in comparisons for row in comparison.rows)
    if format == "json":
        print(as_json(comparisons, gate.fails))
    elif format == "md":
        print(as_text)
    else:
        for comparison in comparisons:
            show(comparison)
    for path, text in ((markdown, as_text), (junit, as_junit(comparisons, gate.fails))):
        if path is not None:
            with writing(path) as partial:
                partial.write_text(text, encoding="utf-8", errors="replace")
    if failed and format != "json":
        print(f"gate: {plural(failed, 'case')} failed")
    return 1 if failed else 0


def check_files(*paths: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is measured."""
    from opbench.errors import UserError

    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            why = "it is a folder" if path.is_dir() else f"folder not found: {path.parent}"
            raise UserError(f"cannot write {path}: {why}")
