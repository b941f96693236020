"""Layer results read back from a CSV file, such as those kept in a repository.

`csv_file` writes them. Lines that begin with `#` name the origin of the numbers.
"""

from __future__ import annotations

import csv
from pathlib import Path

from opbench.errors import UserError
from opbench.suites.layers.factors import Factor, LayerRow

PLAIN = ("layer", "mode", "batch_size", "stage", "device", "metric", "unit", "outcome", "reason")
NUMBERS = ("estimate", "low", "high")
FACTORS = ("factor", "factor_nn")
#: Columns that older files do not have.
LATER = ("size", "note")
PREFIX = "component."


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise UserError(f"cannot read {path}: {reason}") from None


def read(path: Path) -> tuple[list[LayerRow], list[str]]:
    """The rows of such a file, and the lines about its environment."""
    lines = read_lines(path)
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    missing = [name for name in (*PLAIN, *NUMBERS) if name not in (reader.fieldnames or ())]
    if missing:
        raise UserError(f"{path}: no column {missing[0]}; is it a file of `report layers`?")
    rows = []
    for line in reader:
        try:
            rows.append(_row(line))
        except (TypeError, ValueError) as error:
            raise UserError(f"{path} line {reader.line_num + len(notes)}: {error}") from None
    return rows, notes


def _row(line: dict[str, str]) -> LayerRow:
    return LayerRow(
        **{name: line[name] for name in PLAIN if name != "batch_size"},  # type: ignore[arg-type]
        **{name: line.get(name) or "" for name in LATER},  # type: ignore[arg-type]
        batch_size=int(line["batch_size"]),
        **{name: float(line[name]) if line[name] else None for name in NUMBERS},  # type: ignore[arg-type]
        **{name: _factor(line, name) for name in FACTORS},  # type: ignore[arg-type]
        components={
            name[len(PREFIX) :]: int(float(value))
            for name, value in line.items()
            if name.startswith(PREFIX) and value
        },
    )


def _factor(line: dict[str, str], name: str) -> Factor | None:
    texts = [line.get(name + end) or "" for end in ("", "_low", "_high")]
    return Factor(*map(float, texts)) if all(texts) else None
