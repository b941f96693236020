"""What fusion gains: the sum of the parts over the whole, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opbench.stats.pair import compare_sum
from opbench.suites.ops.catalogue import find
from opbench.suites.ops.results.rows import OperatorRow

FUSED = "fused"


@dataclass(frozen=True)
class Gain:
    """`value` 1.3: the parts one by one take 1.3 times as long as the fused operator."""

    fused: OperatorRow
    parts: tuple[OperatorRow, ...]
    value: float
    low: float
    high: float
    #: `kernel`, `graph` or `sequence`: how the framework joins them.
    how: str

    @property
    def sum(self) -> float:
        return sum(part.estimate or 0.0 for part in self.parts)


def gains(rows: Sequence[OperatorRow]) -> list[Gain]:
    """One for each fused operator whose every part was measured, by the same framework, at the
    same place."""
    sets: dict[tuple[str, ...], dict[str, OperatorRow]] = {}
    for row in rows:
        if row.form and row.unit == "s":
            rest = (row.framework, *(text for text in row.place if text != row.form))
            sets.setdefault(rest, {})[row.form] = row
    measured: list[Gain] = []
    for forms in sets.values():
        entry = find(next(iter(forms.values())).operator)
        whole = forms.get(FUSED)
        if entry is None or whole is None or not whole.ok:
            continue
        names = [f"{i}.{part.operator}" for i, part in enumerate(entry.parts, 1)]
        parts = tuple(forms[name] for name in names if name in forms and forms[name].ok)
        if len(parts) == len(names):
            call = entry.call(whole.framework)
            how = call.how if call and call.how else ""
            if whole.framework == "torch_compile":
                how = "graph"
            measured += _gain(whole, parts, how)
    return measured


def _gain(whole: OperatorRow, parts: tuple[OperatorRow, ...], how: str) -> list[Gain]:
    results = [part.result for part in parts if part.result]
    if whole.result is None or len(results) < len(parts):
        return []
    same_run = {part.run for part in parts} == {whole.run}
    pair = compare_sum(whole.result, results, same_run=same_run)
    if pair.value is None or pair.low is None or pair.high is None:
        return []
    return [Gain(whole, parts, pair.value, pair.low, pair.high, how)]
