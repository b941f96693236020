"""What the page says of a single case: its samples, how they came about, its script.

Details come in pieces of a few hundred rows, each compressed on its own, so that the page opens
without unpacking any. A script is kept as the numbers of its parts: those of ten thousand scripts
are mostly the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from opbench.analyse.functions import NoFunctions, by_function, stats_of
from opbench.analyse.side_by_side import side_by_side
from opbench.case import Case
from opbench.report.page.packing import Words, number, packed, plain
from opbench.report.page.table import Row
from opbench.report.script import pieces as script_pieces
from opbench.result import LAST_WORDS, Result
from opbench.store import payload
from opbench.store.payload import sample_columns

#: Rows whose details are unpacked together: a few milliseconds when one of them is opened.
PIECE = 200
#: Samples the page keeps of all results together, about two bytes each; the store keeps the rest.
SAMPLES = 3_000_000
MOST_SAMPLES, LEAST_SAMPLES = 240, 12
#: What is shown of a sample.
SHOWN = ("value", "start", "contended")
#: A sample is kept as its distance from the estimate, in this part of it.
STEP = 1e-4
#: Functions listed of an instruction count.
FUNCTIONS = 15
#: Unpacking a count takes milliseconds: of more results than this the page names the command.
COUNTED = 3_000

#: How a result came about, of what its detail says.
SHOWN_DETAILS = (
    "way", "stopped", "starts", "sessions", "design", "settled", "seconds", "within", "between",
    "layout", "second_pass", "source", "calls",
)  # fmt: skip
#: Lists with one entry per child, shown as their median.
TYPICAL = ("calls_per_block", "first_call")
#: Details of metrics that are counted, passed on as they are.
WHOLE = ("components", "stages", "lines", "max_memory", "reserved", "left_after")
LONGEST = 4_000


#: Packed samples of results that were read without, by case hash, environment and metric.
Packed = Mapping[tuple[str, str, str], bytes]

#: More rows than this are worth more than one process.
MANY = 20_000


@dataclass(frozen=True)
class Details:
    rows: Sequence[Row]
    samples: Packed = field(default_factory=dict)

    def pieces(self) -> AbstractContextManager[Iterator[str]]:
        """Packed, in order of the rows. Of many rows they are made while the caller does other
        things."""
        starts = range(0, len(self.rows), PIECE)
        return side_by_side(self.piece, starts, worth_it=len(self.rows) > MANY)

    def piece(self, start: int) -> str:
        lines = Words()
        shown = [self._row(row, lines) for row in self.rows[start : start + PIECE]]
        return packed({"lines": lines.texts, "rows": shown})

    @cached_property
    def most(self) -> int:
        return samples_each(sum(len(row.results) for row in self.rows))

    @cached_property
    def counted(self) -> bool:
        return sum("instructions" in row.results for row in self.rows) <= COUNTED

    def _row(self, row: Row, lines: Words) -> dict[str, Any]:
        metrics = {}
        for name, stored in row.results.items():
            result = stored.result
            kept = self.samples.get((result.case_hash, result.environment, name))
            taken = payload.columns(kept, SHOWN) if kept else sample_columns(result.samples)
            metrics[name] = _result(result, self.most, self.counted, taken)
        return {
            "hash": row.case.hash,
            "script": [lines.index(piece) for piece in script_of(row.case)],
            "metrics": metrics,
        }


def samples_each(results: int) -> int:
    return max(LEAST_SAMPLES, min(MOST_SAMPLES, SAMPLES // max(results, 1)))


def script_of(case: Case) -> tuple[str, ...]:
    try:
        return script_pieces(case)
    except (ValueError, SyntaxError, LookupError) as error:
        return (f"# no script: {error}",)


def _result(
    result: Result, most: int, counted: bool, taken: dict[str, list[Any]]
) -> dict[str, Any]:
    detail = result.detail
    shown: dict[str, Any] = {
        key: plain(detail[key], 3)
        for key in SHOWN_DETAILS
        if detail.get(key) not in (None, "", False)
    }
    for key in TYPICAL:
        listed = detail.get(key)
        values = sorted(
            value
            for value in (listed if isinstance(listed, list) else ())
            if isinstance(value, (int, float))
        )
        if values:
            shown[key] = number(values[len(values) // 2], 3)
    shown |= {key: plain(detail[key]) for key in WHOLE if detail.get(key)}
    shown |= {key: str(detail[key])[-LONGEST:] for key in LAST_WORDS if detail.get(key)}
    if counted and detail.get("functions"):
        shown["functions"] = _functions(result)
    record: dict[str, Any] = {"detail": shown, "fingerprint": result.fingerprint}
    if result.policy:
        record["policy"] = result.policy
    if result.warnings:
        record["warnings"] = [[warning.code, warning.text] for warning in result.warnings]
    if taken["value"]:
        record["samples"] = _samples(taken, result.estimate, most)
    return record


def _functions(result: Result) -> list[list[Any]]:
    try:
        counts = by_function(stats_of(result))
    except (NoFunctions, ValueError, KeyError):
        return []
    return [[name, number(count)] for name, count in counts[:FUNCTIONS]]


def _samples(taken: dict[str, list[Any]], estimate: float | None, most: int) -> dict[str, Any]:
    """`starts`: for each worker start its number, then its samples in steps from the base."""
    values, starts = taken["value"], taken.get("start") or [0] * len(taken["value"])
    contended = taken.get("contended")
    if len(values) > most:
        # Evenly spread, so that every start and every part of the run is among them.
        kept = [index * len(values) // most for index in range(most)]
        values, starts = [values[i] for i in kept], [starts[i] for i in kept]
        contended = [contended[i] for i in kept] if contended else None
    base = number(estimate) or 0.0
    step = abs(base) * STEP or max(map(abs, values)) * STEP or 1.0
    by_start: dict[int, list[int]] = {start: [start] for start in starts}
    # What is not finite, or beyond what a chart could show, stands at the base.
    away = [(value - base) / step for value in values]
    away = [steps if abs(steps) < 1e12 else 0.0 for steps in away]
    for start, steps in zip(starts, map(round, away)):
        by_start[start].append(steps)
    record: dict[str, Any] = {"starts": list(by_start.values())}
    if not base:
        record["step"] = number(step)
    if contended and any(contended):
        record["disturbed"] = _places(starts, contended)
    return record


def _places(starts: Sequence[int], contended: Sequence[bool]) -> list[list[int]]:
    """Positions of disturbed samples within each start, in the order of `starts`."""
    seen: dict[int, int] = {}
    positions: dict[int, list[int]] = {}
    for start, disturbed in zip(starts, contended):
        place = seen.get(start, 0)
        seen[start] = place + 1
        of_start = positions.setdefault(start, [])
        if disturbed:
            of_start.append(place)
    return list(positions.values())
