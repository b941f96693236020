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
    from opbench.report.comparison import as_markdown, show
    from opbench.report.comparison_json import as_json
    from opbench.report.junit import as_junit

    failed = sum(gate.fails(row) for comparison in comparisons for row in comparison.rows)
    if format == "json":
        print(as_json(comparisons, gate.fails))
    elif format == "md":
        print("\n".join(as_markdown(comparison) for comparison in comparisons))
    else:
        for comparison in comparisons:
            show(comparison)
    _write(markdown, "\n".join(as_markdown(comparison) for comparison in comparisons))
    _write(junit, as_junit(comparisons, gate.fails))
    if failed and format != "json":
        print(f"gate: {failed} case{'s' if failed > 1 else ''} failed")
    return 1 if failed else 0


def check_format(format: str) -> None:
    from opbench.errors import UserError, unknown

    if format not in FORMATS:
        raise UserError(unknown("format", format, FORMATS))


def check_files(*paths: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is measured."""
    from opbench.errors import UserError

    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            why = "it is a folder" if path.is_dir() else f"folder not found: {path.parent}"
            raise UserError(f"cannot write {path}: {why}")


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    from opbench.errors import UserError

    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
