"""Layer results as one CSV file that stands on its own: values, factors, components, environment.

The environment is in lines that begin with `#`, before the header, so that a file in a repository
names the origin of its numbers; `pandas.read_csv(path, comment="#")` skips them. Times
are seconds, memory bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from opbench import files
from opbench.errors import UserError
from opbench.suites.layers.factors import Factor, LayerRow

PLAIN = ("layer", "mode", "batch_size", "stage", "device", "metric", "unit", "outcome", "reason")
NUMBERS = ("estimate", "low", "high")
FACTORS = ("factor", "factor_nn")
#: Columns that older files do not have.
LATER = ("size", "note")
PREFIX = "component."


def write(rows: Sequence[LayerRow], stream: TextIO, environment: Iterable[str] = ()) -> None:
    stream.writelines(f"# {' '.join(line.split())}\n" for line in environment)
    components = dict.fromkeys(name for row in rows for name in row.components)
    columns = [*PLAIN, *LATER, *NUMBERS]
    columns += [name + end for name in FACTORS for end in ("", "_low", "_high")]
    columns += [PREFIX + name for name in components]
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        line: dict[str, Any] = {name: getattr(row, name) for name in (*PLAIN, *LATER)}
        line.update({name: _text(getattr(row, name)) for name in NUMBERS})
        for name in FACTORS:
            factor: Factor | None = getattr(row, name)
            if factor is not None:
                line[name] = _text(factor.value)
                line[name + "_low"], line[name + "_high"] = map(_text, (factor.low, factor.high))
        line.update({PREFIX + name: size for name, size in row.components.items()})
        writer.writerow(line)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def read_lines(path: Path) -> list[str]:
    return files.text(path).splitlines()


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
