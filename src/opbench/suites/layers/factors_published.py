"""Factors that others have published, to compare ours with.

A file is CSV with the columns `layer, batch_size, runtime_ms_median, peak_minus_base_MB_median`,
the layer under its classic name. The figures of the original study come with opbench; lines that
begin with `#` name the origin of a file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from opbench.errors import UserError
from opbench.suites.layers.config import published as published_config
from opbench.suites.layers.csv_file import read_lines
from opbench.suites.layers.factors import MAX_MEMORY
from opbench.suites.layers.names import BASELINE, COUNTERPART, read_name

TIME = "time"
COLUMNS = {TIME: "runtime_ms_median", MAX_MEMORY: "peak_minus_base_MB_median"}
#: The name under which the figures of arXiv:2109.12298 are found.
SHIPPED = "published"


@dataclass(frozen=True)
class Published:
    """Medians by layer, mode and batch size, and where they are from."""

    origin: str
    values: dict[tuple[str, str, str, int], float]
    #: Whether they were measured with the published configuration; else sizes are not known.
    of_config: bool = False

    def factor(self, metric: str, layer: str, mode: str, batch: int) -> float | None:
        """Over the torch.nn layer, unwrapped. `metric` is `time` or `max_memory`."""
        own = self.values.get((metric, layer, mode, batch))
        nn = self.values.get((metric, COUNTERPART.get(layer, layer), BASELINE, batch))
        if own is None or not nn or (mode == BASELINE and layer not in COUNTERPART):
            return None
        return own / nn

    def size(self, layer: str, batch: int) -> str:
        """What was built and what went in, as `LayerRow.size` has it; empty where not known."""
        section = published_config().section(layer) if self.of_config else None
        return "" if section is None else str(section.shaped(layer, batch).size)

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        return tuple(sorted({batch for _, _, _, batch in self.values}))


def published(where: str = SHIPPED) -> Published:
    """The shipped figures, or those of a file."""
    if where == SHIPPED:
        file = resources.files("opbench.data").joinpath("opacus_microbe_2021.csv")
        found = parse(file.read_text(encoding="utf-8").splitlines(), "arXiv:2109.12298")
        return replace(found, of_config=True)
    return parse(read_lines(Path(where)), where)


def parse(lines: Iterable[str], origin: str) -> Published:
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    needed = {"layer", "batch_size", *COLUMNS.values()}
    if missing := sorted(needed - set(reader.fieldnames or ())):
        raise UserError(f"{origin}: no column {missing[0]}; needed: {', '.join(sorted(needed))}")
    values = {}
    for row in reader:
        try:
            layer, mode = read_name(row["layer"])
            batch = int(row["batch_size"])
            for metric, column in COLUMNS.items():
                if row[column]:
                    values[metric, layer, mode, batch] = float(row[column])
        except (ValueError, TypeError, UserError) as error:
            raise UserError(f"{origin} line {reader.line_num}: {error}") from None
    return Published(origin, values)
