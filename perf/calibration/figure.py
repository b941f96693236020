"""A figure that was found, and between what it must lie; and the noise of blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opbench.stats.estimate import Placed

#: Between the blocks of a child, relative, and how many there are.
BLOCK_SD, BLOCKS = 0.01, 5


@dataclass(frozen=True)
class Figure:
    setting: str
    #: What was found, as a share or a factor, and the least and most that it may be.
    found: float
    least: float = 0.0
    most: float = math.inf

    @property
    def reached(self) -> bool:
        return self.least <= self.found <= self.most


def table(figures: Sequence[Figure]) -> list[str]:
    lines = ["| setting | found | to reach | |", "| :-- | --: | --: | :-- |"]
    for each in figures:
        bounds = [f"≥ {each.least:.3g}"] if each.least else []
        bounds += [f"≤ {each.most:.3g}"] if each.most < math.inf else []
        verdict = "" if not bounds else "reached" if each.reached else "**missed**"
        lines.append(f"| {each.setting} | {each.found:.3f} | {', '.join(bounds)} | {verdict} |")
    return lines


def blocks_of(rng: np.random.Generator, levels: np.ndarray) -> list[Placed]:
    """Blocks of one child in each start, whose levels are given as logs."""
    values = np.exp(levels[:, None] + rng.normal(0, BLOCK_SD, (len(levels), BLOCKS)))
    return [(start, 0, float(value)) for start, row in enumerate(values) for value in row]
