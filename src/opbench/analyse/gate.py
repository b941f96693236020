"""`--fail-on slower:3%`: which rows of a comparison make it fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opbench.analyse.compare import ComparisonRow
from opbench.errors import UserError, unknown
from opbench.stats.verdict import VERDICTS


@dataclass(frozen=True)
class Gate:
    """Fails on rows of a verdict whose change is at least `least` (0.03 is 3 %)."""

    terms: tuple[tuple[str, float], ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Gate:
        terms = []
        for text in texts:
            verdict, _, share = text.partition(":")
            if verdict not in VERDICTS:
                raise UserError(f"--fail-on: {unknown('verdict', verdict, VERDICTS)}")
            terms.append((verdict, _fraction(share) if share else 0.0))
        return cls(tuple(terms))

    def fails(self, row: ComparisonRow) -> bool:
        # A change from zero has no ratio, and counts as large.
        change = math.inf if row.value is None else abs(row.value - 1)
        return any(row.verdict == verdict and change >= least for verdict, least in self.terms)


def _fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    # A bare 3 would be read as 300 %, and the gate would never fail.
    if not 0 <= value < (math.inf if text.endswith("%") else 1):
        raise UserError(f"--fail-on: expected a percentage such as slower:3%, found '{text}'")
    return value / 100 if text.endswith("%") else value
