"""`--fail-on slower:3%`: which rows of a comparison make it fail, and which it cannot judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opbench.analyse.compare import WORDS, Comparison, ComparisonRow
from opbench.errors import UNMEASURED, UserError, plural, unknown
from opbench.stats.verdict import VERDICTS

#: A verdict in any metric, or the word it goes by in some: `larger` is `slower` of bytes alone.
ACCEPTED = (
    *VERDICTS,
    *dict.fromkeys(word for words in WORDS.values() for word in words.values()),
)

#: Exit code where a row has the verdict, or cannot be judged because one of its sides failed.
FAILED = 1


@dataclass(frozen=True)
class Gate:
    """Fails on rows of a verdict whose change is at least `least` (0.03 is 3 %)."""

    terms: tuple[tuple[str, float], ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Gate:
        terms = []
        for text in texts:
            verdict, _, share = text.partition(":")
            if verdict not in ACCEPTED:
                raise UserError(f"--fail-on: {unknown('verdict', verdict, ACCEPTED)}")
            terms.append((verdict, _fraction(share) if share else 0.0))
        return cls(tuple(terms))

    def fails(self, row: ComparisonRow) -> bool:
        # A change from zero has no ratio, and counts as large.
        change = math.inf if row.value is None else abs(row.value - 1)
        names = (row.verdict, row.word)
        return any(verdict in names and change >= least for verdict, least in self.terms)

    def unmeasured(self, comparison: Comparison) -> list[ComparisonRow]:
        """Rows that would pass only because there is nothing to judge: the base was measured and
        the new side was not, or no row of the metric was measured at all."""
        if not self.terms:
            return []
        known = {row.metric for row in comparison.rows if row.measured}
        return [
            row
            for row in comparison.rows
            if not row.measured
            and (row.metric not in known or (row.base is not None and row.base.ok))
            and not self.fails(row)
        ]

    def undecided(self, comparison: Comparison) -> list[ComparisonRow]:
        """Rows that pass because nothing is certain of them; as measured, they would fail."""
        return [
            row
            for row in comparison.rows
            if row.verdict == "unknown" and row.value is not None and self._would_fail(row)
        ]

    def _would_fail(self, row: ComparisonRow) -> bool:
        assert row.value is not None
        verdict = "slower" if row.value > 1 else "faster"
        sure = replace(row, verdict=verdict)
        return not self.fails(row) and self.fails(sure)

    def exit_code(self, comparisons: Sequence[Comparison]) -> int:
        if any(self.fails(row) for comparison in comparisons for row in comparison.rows):
            return FAILED
        unmeasured = [row for each in comparisons for row in self.unmeasured(each)]
        sides = [side for row in unmeasured for side in (row.base, row.new) if side is not None]
        return FAILED if any(side.failed for side in sides) else UNMEASURED if unmeasured else 0


def gate_lines(comparisons: Sequence[Comparison], gate: Gate) -> list[str]:
    """Why the gate does not pass, or why that says little; nothing where it passes."""
    lines = []
    failed = [row for each in comparisons for row in each.rows if gate.fails(row)]
    if failed:
        lines.append(f"gate: {cases(failed, 'failed')}")
    unmeasured = [row for each in comparisons for row in gate.unmeasured(each)]
    if unmeasured:
        first = unmeasured[0]
        lines.append(
            f"gate: {cases(unmeasured, 'not measured')}, so nothing can be said of "
            f"{'it' if len(unmeasured) == 1 else 'them'}; "
            f"e.g. {first.metric} of {first.case_id}: {first.reason}"
        )
    undecided = [row for each in comparisons for row in gate.undecided(each) if row.reason]
    if undecided and not lines:
        first = undecided[0]
        lines.append(
            f"gate: passed, but {cases(undecided, 'could not be judged')}; e.g. {first.metric} of "
            f"{first.case_id}, {first.value:.3g} times the base: {first.reason}; measure again, or "
            "fail on what is unknown too (--fail-on unknown)"
        )
    return lines


def cases(rows: Sequence[ComparisonRow], what: str) -> str:
    """`2 cases failed`, or `1 case failed (3 results)`: a case has a row for each metric."""
    count = len({row.case_id for row in rows})
    results = f" ({plural(len(rows), 'result')})" if len(rows) > count else ""
    return f"{plural(count, 'case')} {what}{results}"


def _fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    # A bare 3 would be read as 300 %, and the gate would never fail.
    if not 0 <= value < (math.inf if text.endswith("%") else 1):
        raise UserError(f"--fail-on: expected a percentage such as slower:3%, found '{text}'")
    return value / 100 if text.endswith("%") else value
