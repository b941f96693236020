"""Results as flat rows: one per result, the same columns for CSV files and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opbench.store.records import RunRecord, StoredResult

#: Before and after the columns of the labels, which depend on the results.
IDENTITY = ("run", "run_name", "case_id", "case_hash", "suite", "benchmark")
OF_CASE = ("stage", "framework", "runtime", "device", "dtype", "threads")
OF_RESULT = ("metric", "unit", "outcome", "reason", "estimate", "low", "high", "half_width")
PLACE = ("environment", "fingerprint", "node", "created")
FACTS = (*OF_CASE, *OF_RESULT, "n_samples", *PLACE, "warnings")


def label_columns(results: Iterable[StoredResult]) -> list[str]:
    """`label.batch` for each axis, in order of first appearance. The prefix keeps an axis called
    `device` apart from the column of that name."""
    seen: dict[str, None] = {}
    for stored in results:
        seen.update((f"label.{axis}", None) for axis, _ in stored.case.labels)
    return list(seen)


def columns(results: Iterable[StoredResult]) -> list[str]:
    return [*IDENTITY, *label_columns(results), *FACTS]


def rows(
    results: Sequence[StoredResult], runs: Iterable[RunRecord] = ()
) -> Iterator[dict[str, Any]]:
    """Python values; a label that a case does not have is absent from its row."""
    names = {run.id: run.name for run in runs}
    for stored in results:
        case, result = stored.case, stored.result
        yield {
            "run": stored.run_id,
            "run_name": names.get(stored.run_id, ""),
            "case_id": case.id,
            "case_hash": result.case_hash,
            "suite": case.suite,
            "benchmark": case.name,
            **{f"label.{axis}": value for axis, value in case.labels},
            **{name: getattr(case, name) for name in OF_CASE},
            **{name: getattr(result, name) for name in (*OF_RESULT, *PLACE)},
            "n_samples": stored.n_samples or len(result.samples),
            "warnings": "; ".join(f"{warning.code}: {warning.text}" for warning in result.warnings),
        }
