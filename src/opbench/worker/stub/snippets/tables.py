"""Formats for many definitions: in two columns, line by line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from .errors import SnippetError

#: Width of the Python column, as in PyTorch's suite, whose definitions must parse unchanged.
COLUMN = 40
HEADER = re.compile(r"^Python\s{35}\| C\+\+\s*$")
RULE = re.compile(r"^-{40} \| -{40}$")


def parse_stmts(stmts: str) -> tuple[str, str]:
    """(Python, C++) from two columns of source.

    The first line is `Python … | C++`, the second a rule of dashes. The left column is 40 wide,
    and ` | ` separates the columns.
    """
    pairs = list(iter_parsed_lines(stmts))
    python, cpp = ("\n".join(column).rstrip() for column in zip(*pairs))
    return python, cpp


def iter_parsed_lines(stmts: str) -> Iterator[tuple[str, str]]:
    """The lines of two columns of source, as pairs."""
    lines = textwrap.dedent(stmts).strip("\n").rstrip().splitlines()
    if len(lines) < 3:
        raise SnippetError("two columns need a header, a rule and at least one line of source")
    if not HEADER.match(lines[0]):
        raise SnippetError(
            f"the header must be 'Python', spaces up to column {COLUMN}, ' | C++': {lines[0]}"
        )
    if not RULE.match(lines[1].rstrip()):
        raise SnippetError(f"below the header must be {COLUMN} dashes, ' | ', {COLUMN} dashes")
    for number, line in enumerate(lines[2:], 3):
        left, middle, right = line[:COLUMN], line[COLUMN : COLUMN + 3], line[COLUMN + 3 :]
        if middle.rstrip() != " |":
            raise SnippetError(
                f"line {number} has no ' | ' after {COLUMN} characters of Python: {line}"
            )
        yield left.rstrip(), right.rstrip()


def split_variants(block: str, comment: str) -> tuple[dict[str, list[str]], str, str]:
    """(lines by label, setup, global setup) of a block with `# @label` lines.

    `@setup` and `@global setup` are taken out. Each other line is a benchmark of its own; a blank
    one, or a comment, keeps its place: the lines of two languages are paired by position.
    """
    by_label: dict[str, list[str]] = {"SETUP": [], "GLOBAL_SETUP": []}
    label = ""
    for line in textwrap.dedent(block).strip().splitlines():
        found = re.match(rf"^\s*{re.escape(comment)} @(.+)$", line)
        if found:
            label = found.group(1).strip()
            special = label.replace(" ", "_").upper()
            label = special if special in ("SETUP", "GLOBAL_SETUP") else label
            continue
        in_setup = label in ("SETUP", "GLOBAL_SETUP")
        if not in_setup and (line.lstrip().startswith(comment) or not line.strip()):
            line = ""
        by_label.setdefault(label, []).append(line)
    setup = "\n".join(by_label.pop("SETUP"))
    global_setup = "\n".join(by_label.pop("GLOBAL_SETUP"))
    return by_label, setup, global_setup
