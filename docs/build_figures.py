"""Copies the figures that README.md quotes from docs/performance.md.

    python docs/build_figures.py

The table stands between `<!-- figures -->` and `<!-- end -->`. It quotes what was measured, so it
is written again whenever the page of measured figures is.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README, FIGURES = ROOT / "README.md", ROOT / "docs" / "performance.md"
BLOCK = re.compile(r"(<!-- figures -->\n).*?(<!-- end -->)", re.DOTALL)


def tables(page: str, section: str) -> list[list[str]]:
    """The rows of all tables of a section, as cells."""
    found = re.search(rf"<!-- begin {section} -->(.*?)<!-- end {section} -->", page, re.DOTALL)
    assert found, f"docs/performance.md has no section {section}"
    lines = [line for line in found[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def row(page: str, section: str, start: str) -> list[str]:
    (found,) = (cells for cells in tables(page, section) if cells[0].startswith(start))
    return found


def share(text: str) -> str:
    """`3 of 64` of `3 of 64 = 4.7% (95 %: 2% to 13%)`."""
    found = re.match(r"\d+ of \d+", text)
    assert found, text
    return found[0]


def table(page: str) -> str:
    """What the README shows."""
    one = row(page, "comparison", "A/A within")[1]
    two = row(page, "across", "A/A across two")[1]
    others = row(page, "across", "A/A, two environments")
    names = row(page, "across", "pairs")
    rules = {name: cell.split(" ")[0] for name, cell in zip(names, others)}
    spread = {cells[0]: cells[4] for cells in tables(page, "spread") if cells[4].endswith("%")}
    wall = {cells[0]: cells[5] for cells in tables(page, "spread") if cells[4].endswith("%")}
    small = row(page, "foundation", "100 small torch cases")[1]
    return "\n".join(
        [
            "",
            "| question | measured |",
            "|---|---|",
            f"| identical code called different, side by side | {share(one)} |",
            f"| the same in two environments | {share(two)}; by the rules of other tools on the "
            f"same samples: asv {rules['asv']}, pytest-benchmark {rules['pytest-benchmark 5 %']}, "
            f"pyperf {rules['pyperf']}, a Mann-Whitney test {rules['Mann-Whitney 5 %']} |",
            *(
                f"| {effect} more work found | {share(row(page, 'comparison', start)[1])}, "
                f"in {seconds(row(page, 'comparison', start)[1])} per case |"
                for effect, start in (("2 %", "injected 2 %"), ("1 %", "injected 1 %"))
            ),
            "| spread of an estimate over 20 fresh runs | "
            + ", ".join(f"{name} {value} ({wall[name]})" for name, value in spread.items())
            + " |",
            f"| not reached | 100 small cases, ±2 % asked: {small} |",
            "",
            "",
        ]
    )


def seconds(text: str) -> str:
    found = re.search(r"([\d.]+ s) per case", text)
    assert found, text
    return found[1]


def readme(text: str, page: str) -> str:
    assert BLOCK.search(text), "README.md has no <!-- figures -->"
    return BLOCK.sub(lambda found: found[1] + table(page) + found[2], text)


def main() -> None:
    page = FIGURES.read_text(encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8"), page), encoding="utf-8")


if __name__ == "__main__":
    main()
