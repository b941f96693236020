"""Layer results as one CSV file that stands on its own: values, factors, components, environment.

The environment is in lines that begin with `#`, before the header, so that a file in a repository
names the origin of its numbers; `pandas.read_csv(path, comment="#")` skips them. Times
are seconds, memory bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from opbench.suites.layers.factors import Factor, LayerRow
from opbench.suites.layers.factors_file import FACTORS, LATER, NUMBERS, PLAIN, PREFIX


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
        line.update({name: _number(getattr(row, name)) for name in NUMBERS})
        for name in FACTORS:
            factor: Factor | None = getattr(row, name)
            if factor is not None:
                line[name] = _number(factor.value)
                line[name + "_low"], line[name + "_high"] = map(_number, (factor.low, factor.high))
        line.update({PREFIX + name: size for name, size in row.components.items()})
        writer.writerow(line)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"
