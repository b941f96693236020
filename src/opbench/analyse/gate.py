"""`--fail-on slower:3%`: which rows of a comparison make it fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opbench.analyse.compare import Row
from opbench.define.definition import DefineError
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
                valid = ", ".join(VERDICTS)
                raise DefineError(f"--fail-on takes a verdict ({valid}), not '{verdict}'")
            terms.append((verdict, _fraction(share) if share else 0.0))
        return cls(tuple(terms))

    def fails(self, row: Row) -> bool:
        change = abs((row.value or 1.0) - 1)
        return any(row.verdict == verdict and change >= least for verdict, least in self.terms)


def _fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise DefineError(f"--fail-on slower:3% takes a percentage, not '{text}'") from None
    return value / 100 if text.endswith("%") else value
