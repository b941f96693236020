"""What the page says of a single case: its samples, how they came about, its script.

Details come in pieces of a few hundred rows, each compressed on its own, so that the page opens
without unpacking any. A script is kept as the numbers of its lines: the lines of ten thousand
scripts are mostly the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opbench.analyse.functions import NoFunctions, by_function, stats_of
from opbench.case import Case
from opbench.report.page.packing import Words, number, plain
from opbench.report.page.table import Row
from opbench.result import Result, Sample
from opbench.script import script

#: Rows whose details are unpacked together: a few milliseconds when one of them is opened.
PIECE = 200
#: Samples the page keeps of all results together, about two bytes each; the store keeps the rest.
SAMPLES = 3_000_000
MOST_SAMPLES, LEAST_SAMPLES = 240, 12
#: A sample is kept as its distance from the estimate, in this part of it.
STEP = 1e-4
#: Functions listed of an instruction count.
FUNCTIONS = 15
#: Unpacking a count takes milliseconds: of more results than this the page names the command.
COUNTED = 3_000

#: How a result came about, of what its detail says.
TOLD = (
    "way", "stopped", "starts", "sessions", "design", "settled", "seconds", "within", "between",
    "layout", "second_pass", "source", "calls",
)  # fmt: skip
#: Lists with one entry per child, told by their median.
TYPICAL = ("calls_per_block", "first_call")
#: Details of metrics that are counted, passed on as they are.
WHOLE = ("components", "stages", "lines", "max_memory", "reserved", "left_after")
#: What a failed case printed before its end.
LAST_WORDS = ("traceback", "output")
LONGEST = 4_000


def pieces(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    most = samples_each(sum(len(row.results) for row in rows))
    counted = sum("instructions" in row.results for row in rows) <= COUNTED
    for start in range(0, len(rows), PIECE):
        lines = Words()
        told = [_row(row, lines, most, counted) for row in rows[start : start + PIECE]]
        yield {"lines": lines.texts, "rows": told}


def samples_each(results: int) -> int:
    return max(LEAST_SAMPLES, min(MOST_SAMPLES, SAMPLES // max(results, 1)))


def _row(row: Row, lines: Words, most: int, counted: bool) -> dict[str, Any]:
    case = row.case
    return {
        "hash": case.hash,
        "statement": case.stmt,
        "script": [lines.index(line) for line in script_of(case).split("\n")],
        "metrics": {
            name: _result(stored.result, most, counted) for name, stored in row.results.items()
        },
    }


def script_of(case: Case) -> str:
    try:
        return script(case)
    except (ValueError, SyntaxError, LookupError) as error:
        return f"# no script: {error}"


def _result(result: Result, most: int, counted: bool) -> dict[str, Any]:
    detail = result.detail
    told: dict[str, Any] = {
        key: plain(detail[key], 3) for key in TOLD if detail.get(key) not in (None, "", False)
    }
    for key in TYPICAL:
        values = sorted(value for value in detail.get(key) or () if value is not None)
        if values:
            told[key] = number(values[len(values) // 2], 3)
    told |= {key: plain(detail[key]) for key in WHOLE if detail.get(key)}
    told |= {key: str(detail[key])[-LONGEST:] for key in LAST_WORDS if detail.get(key)}
    if counted and detail.get("functions"):
        told["functions"] = _functions(result)
    found: dict[str, Any] = {"told": told, "mark": result.fingerprint}
    if result.policy:
        found["policy"] = result.policy
    if result.warnings:
        found["warnings"] = [[warning.code, warning.text] for warning in result.warnings]
    if result.samples:
        found["samples"] = _samples(result.samples, result.estimate, most)
    return found


def _functions(result: Result) -> list[list[Any]]:
    try:
        counts = by_function(stats_of(result))
    except (NoFunctions, ValueError, KeyError):
        return []
    return [[name, number(count)] for name, count in counts[:FUNCTIONS]]


def _samples(samples: Sequence[Sample], estimate: float | None, most: int) -> dict[str, Any]:
    """`starts`: for each worker start its number, then its samples in steps from the base."""
    if len(samples) > most:
        # Evenly spread, so that every start and every part of the run is among them.
        samples = [samples[index * len(samples) // most] for index in range(most)]
    base = number(estimate) or 0.0
    step = abs(base) * STEP or max(abs(sample.value) for sample in samples) * STEP or 1.0
    by_start: dict[int, list[int]] = {}
    disturbed: list[int] = []
    for index, sample in enumerate(samples):
        steps = (sample.value - base) / step
        # Not finite, or beyond what a chart could show.
        place = round(steps) if abs(steps) < 1e12 else 0
        by_start.setdefault(sample.start, [sample.start]).append(place)
        if sample.contended:
            disturbed.append(index)
    found: dict[str, Any] = {"starts": list(by_start.values())}
    if not base:
        found["step"] = number(step)
    if disturbed:
        found["disturbed"] = _places(samples)
    return found


def _places(samples: Sequence[Sample]) -> list[list[int]]:
    """Positions of disturbed samples within each start, in the order of `starts`."""
    seen: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for sample in samples:
        place = seen.get(sample.start, 0)
        seen[sample.start] = place + 1
        marks = found.setdefault(sample.start, [])
        if sample.contended:
            marks.append(place)
    return list(found.values())
