"""What a run compares within itself: its environments, or the values of the axis of its baseline.

`opbench ab` and `--baseline` measure sides turn by turn in one run; the verdicts on them belong to
the run and need nobody to ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from opbench.analyse.compare import Comparison, compare_pairs
from opbench.analyse.matching import match
from opbench.analyse.projection import columns, keys_of
from opbench.store.records import RunRecord, StoredResult


def comparisons_within(run: RunRecord, results: Sequence[StoredResult]) -> list[Comparison]:
    """One per further value of the compared key: `current → torch-2.12`, `baseline → hooks`."""
    key, base = _compared_key(run, results)
    if not key:
        return []
    by_value = columns(results, key)
    if len(by_value) < 2:
        return []
    first = base if base in by_value else next(iter(by_value))
    ours = by_value.pop(first)
    found = []
    for name, theirs in by_value.items():
        pairs = match(ours, theirs, (), key).pairs
        if pairs:
            found.append(compare_pairs(pairs, names=(f"{key}={first}", f"{key}={name}")))
    return found


def _compared_key(run: RunRecord, results: Sequence[StoredResult]) -> tuple[str, str]:
    axis, equals, value = str(run.request.get("baseline") or "").partition("=")
    if equals and axis in keys_of(results):
        return axis, value
    if len({stored.result.environment for stored in results}) > 1:
        return "environment", ""
    return "", ""
