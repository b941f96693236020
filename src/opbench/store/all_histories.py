"""Every case of a run over all runs, in one reading: narrow rows, no samples, no sources.

A thousand runs of a thousand cases are a million results; one question per case would ask for the
facts of each run a thousand times over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, Double, select, type_coerce

from opbench.store.records import RunRecord
from opbench.store.rows import run_from_row
from opbench.store.tables import cases, results, runs

#: Rows read at a time: one by one takes longer, and a million together too much memory.
BATCH = 10_000


class Narrow(NamedTuple):
    """One result: what a history needs, and the number of its run in `AllHistories.runs`."""

    run: int
    case_hash: str
    outcome: str
    reason: str
    estimate: float | None
    low: float | None
    high: float | None
    environment: str
    fingerprint: str
    #: Of a fleet; nothing for a run on one machine.
    node: str


@dataclass
class AllHistories:
    #: Oldest first.
    runs: list[RunRecord]
    #: By case id and metric, oldest first.
    rows: dict[tuple[str, str], list[Narrow]] = field(default_factory=dict)


def read_all(connection: Connection, run_id: str, last: int | None = None) -> AllHistories:
    """All results, of every run, of the cases (by id) that the run has results of."""
    records = connection.execute(select(runs).order_by(runs.c.created, runs.c.id)).mappings()
    known = [run_from_row(row) for row in records]
    known = known[-last:] if last is not None else known
    found = AllHistories(known)
    number = {run.id: index for index, run in enumerate(known)}
    if not number.keys() - {run_id}:
        return found  # one run is no history
    own = select(results.c.case_hash).where(results.c.run_id == run_id)
    ids = select(cases.c.id).where(cases.c.hash.in_(own))
    by_hash = {
        row.hash: row.id
        for row in connection.execute(select(cases.c.hash, cases.c.id).where(cases.c.id.in_(ids)))
    }
    hashes = select(cases.c.hash).where(cases.c.id.in_(ids))
    # Plain doubles: the store's own type calls a function for each of three million numbers.
    query = select(
        results.c.run_id,
        results.c.metric,
        results.c.case_hash,
        results.c.outcome,
        results.c.reason,
        type_coerce(results.c.estimate, Double),
        type_coerce(results.c.low, Double),
        type_coerce(results.c.high, Double),
        results.c.environment,
        results.c.fingerprint,
        results.c.node,
    ).where(results.c.case_hash.in_(hashes))
    rows = found.rows
    many = {"yield_per": BATCH}
    for name, metric, case_hash, outcome, reason, estimate, low, high, *place in connection.execute(
        query.order_by(results.c.id), execution_options=many
    ):
        if name not in number:
            continue
        key = (by_hash[case_hash], metric)
        if isinstance(estimate, str):  # a NaN, which SQLite keeps as text
            estimate = float(estimate)
        narrow = Narrow(number[name], case_hash, outcome, reason, estimate, low, high, *place)
        if key in rows:
            rows[key].append(narrow)
        else:
            rows[key] = [narrow]
    for members in rows.values():
        members.sort(key=lambda row: row.run)  # stable: in a run by arrival
    return found
