"""Tables of points: values of several axes that belong together, a row for each point."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from opbench import files
from opbench.errors import UserError

#: Between columns: spreadsheets write semicolons in many countries, and tabs into the clipboard.
SEPARATORS = ",;\t"


def read(value: Any) -> tuple[dict[str, Any], ...]:
    """A CSV file with a column for each axis, or the name of a list that ships; or its rows."""
    if not isinstance(value, (str, Path)):
        if not isinstance(value, Sequence) or not all(isinstance(row, Mapping) for row in value):
            raise ValueError(f"expected the name of a CSV file, or rows of it, found {value!r}")
        rows = [{str(axis): given for axis, given in row.items()} for row in value]
    else:
        try:
            text = shipped(str(value)) or files.text(Path(value))
        except UserError as error:
            raise ValueError(f"{error}; lists that ship: {', '.join(shipped_names())}") from None
        kept = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
        between = next((each for each in SEPARATORS if kept and each in kept[0]), ",")
        table = csv.DictReader(kept, skipinitialspace=True, delimiter=between)
        names = Counter(name.strip() for name in table.fieldnames or ())
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ValueError(f"{value}: column '{twice[0]}' is there twice")
        rows = [
            {str(axis).strip(): given.strip() if isinstance(given, str) else given
             for axis, given in row.items()}
            for row in table
        ]  # fmt: skip
    for number, row in enumerate(rows, 1):
        if None in row.values() or "None" in row:
            raise ValueError(
                f"{value}: row {number} has more or fewer values than the header has columns "
                "(an empty value leaves that axis alone)"
            )
        rows[number - 1] = {axis: given for axis, given in row.items() if given != ""}
    if not rows:
        raise ValueError(f"{value}: expected a header of axes, and rows")
    return tuple(rows)


def shipped_names() -> list[str]:
    found = resources.files("opbench.data").joinpath("shapes").iterdir()
    return sorted(each.name.removesuffix(".csv") for each in found if each.name.endswith(".csv"))


def shipped(name: str) -> str:
    """The text of a list of shapes that ships; empty for any other name."""
    if name not in shipped_names():
        return ""
    place = resources.files("opbench.data").joinpath("shapes").joinpath(f"{name}.csv")
    return place.read_text(encoding="utf-8")
