"""From one store to another: whole runs, with everything that belongs to them.

What the target has already stays as it is, so a copy that was cut short is completed by doing it
again, and two stores can be brought together run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select, update

from opbench.store import tables
from opbench.store.connection.database import Database
from opbench.store.insertion import insert_new, insert_rows
from opbench.store.tables import (
    cases,
    environments,
    results,
    runs,
    samples,
    start_variances,
)

#: Results per transaction: few enough to hold with their samples in memory.
BATCH = 500
#: The status of a run some of whose results are still to come.
CUT_SHORT = "interrupted"


@dataclass
class Copied:
    runs: int = 0
    results: int = 0
    #: Results that the target had already.
    known: int = 0


def copy(
    source: Database,
    target: Database,
    run_ids: Sequence[str],
    on_run: Callable[[str, int], None] | None = None,
) -> Copied:
    """Copy those runs; `on_run` hears of each when it is there, and how many results it has."""
    done = Copied()
    for run_id in run_ids:
        with source.reading() as connection:
            head = _head(connection, run_id)
        with target.writing() as connection:
            for table, rows in head.rows:
                _insert_all(connection, table, rows)
        for numbers in _cut(head.numbers):
            with source.reading() as connection:
                rows, payloads = _with_samples(connection, numbers)
            with target.writing() as connection:
                new = insert_rows(connection, rows, payloads)
            done.results += new
            done.known += len(rows) - new
        with target.writing() as connection:
            _complete(connection, run_id, head)
        done.runs += 1
        if on_run is not None:
            on_run(run_id, len(head.numbers))
    return done


@dataclass(frozen=True)
class _Head:
    """All of a run but its results, and the numbers of those."""

    rows: tuple[tuple[Table, list[dict[str, Any]]], ...]
    numbers: list[int]
    #: Of the run, once all of its results are there.
    status: str
    finished: float | None


def _head(connection: Connection, run_id: str) -> _Head:
    mine = select(results).where(results.c.run_id == run_id).subquery()
    wanted: tuple[tuple[Table, Any], ...] = (
        (runs, runs.c.id == run_id),
        (cases, cases.c.hash.in_(select(mine.c.case_hash))),
        (environments, environments.c.fingerprint.in_(select(mine.c.fingerprint))),
        (start_variances, start_variances.c.run_id == run_id),
    )
    found = []
    for table, which in wanted:
        rows = connection.execute(select(table).where(which)).mappings()
        found.append((table, [dict(row) for row in rows]))
    (run,) = found[0][1]
    status, finished = run["status"], run["finished"]
    run.update(status=CUT_SHORT, finished=None)
    numbers = connection.scalars(
        select(results.c.id).where(results.c.run_id == run_id).order_by(results.c.id)
    )
    return _Head(tuple(found), list(numbers), status, finished)


def _complete(connection: Connection, run_id: str, head: _Head) -> None:
    """What was cut short has the rest of its results now."""
    mine = (runs.c.id == run_id) & (runs.c.status == CUT_SHORT)
    connection.execute(update(runs).where(mine).values(status=head.status, finished=head.finished))


def _insert_all(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert_new(connection, table), rows)


def _with_samples(
    connection: Connection, numbers: Sequence[int]
) -> tuple[list[dict[str, Any]], list[bytes | None]]:
    query = (
        select(results, samples.c.payload)
        .outerjoin(samples, samples.c.result_id == results.c.id)
        .where(results.c.id.in_(numbers))
        .order_by(*(results.c[name] for name in ("case_hash", "metric", "place", "policy")))
    )
    rows, payloads = [], []
    for found in connection.execute(query).mappings():
        row = dict(found)
        payloads.append(row.pop("payload"))
        del row["id"]  # the target numbers its own
        rows.append(row)
    return rows, payloads


def _cut(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), BATCH):
        yield numbers[start : start + BATCH]


def all_runs(database: Database) -> list[str]:
    """Oldest first."""
    with database.reading() as connection:
        order = select(tables.runs.c.id).order_by(tables.runs.c.created, tables.runs.c.id)
        return list(connection.scalars(order))
