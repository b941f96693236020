"""Is a store what it says? Every row is read once; what does not fit is reported, not repaired."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Text, func, select, type_coerce
from sqlalchemy.exc import SQLAlchemyError

from opbench.case import Case
from opbench.errors import plural
from opbench.result import OUTCOMES, result_key
from opbench.store import payload
from opbench.store.connection.database import BROKEN, Database, explain
from opbench.store.records import RUN_STATUSES
from opbench.store.tables import (
    cases,
    environments,
    meta,
    results,
    runs,
    samples,
    start_variances,
)

#: Rows fetched at a time.
PAGE = 500


@dataclass
class Checked:
    schema: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def check(database: Database) -> Checked:
    found = Checked()
    with database.reading() as connection:
        schema = select(meta.c.value).where(meta.c.key == "schema_version")
        found.schema = str(connection.scalar(schema))
        for table in (runs, cases, environments, results, samples):
            count = connection.scalar(select(func.count()).select_from(table))
            found.counts[table.name] = int(count or 0)
        for part in (_database_itself, _references, _runs, _cases, _results):
            try:
                for fault in part(connection):
                    found.faults.append(fault)
            except SQLAlchemyError as error:
                found.faults.append(explain(error, database.address.place, "read"))
            except BROKEN as error:
                found.faults.append(f"what SQLite says of the file is not text ({error})")
    return found


def _database_itself(connection: Connection) -> Iterator[str]:
    """SQLite can look at its own pages; a server checks its own as it reads them."""
    if connection.dialect.name != "sqlite":
        return
    for (message,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
        if message != "ok":
            yield f"the file is damaged: {' '.join(str(message).split())}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to a missing row of {parent}"


def _references(connection: Connection) -> Iterator[str]:
    for child, column, parent in (
        (results, results.c.run_id, runs.c.id),
        (results, results.c.case_hash, cases.c.hash),
        (samples, samples.c.result_id, results.c.id),
        (start_variances, start_variances.c.run_id, runs.c.id),
    ):
        lost = select(func.count()).select_from(child).where(column.not_in(select(parent)))
        if count := connection.scalar(lost):
            yield f"{plural(count, 'row')} of {child.name} without a row in {parent.table.name}"


def _runs(connection: Connection) -> Iterator[str]:
    query = select(runs.c.id, runs.c.status, type_coerce(runs.c.machine, Text))
    for run_id, status, machine in connection.execute(query):
        if status not in RUN_STATUSES:
            yield f"run {run_id} has the unknown status {status!r}"
        if not _is_json(machine):
            yield f"the machine of run {run_id} is not JSON"


def _cases(connection: Connection) -> Iterator[str]:
    query = select(cases.c.hash, cases.c.id, type_coerce(cases.c.source, Text))
    for case_hash, case_id, source in connection.execution_options(yield_per=PAGE).execute(query):
        try:
            case = Case.from_dict(json.loads(source))
        except BROKEN as error:
            yield f"case {case_hash} ({case_id}) cannot be read: {error}"
            continue
        if case.id != case_id:
            yield f"case {case_hash} is stored as {case_id}, but its id is {case.id}"


def _results(connection: Connection) -> Iterator[str]:
    query = (
        select(
            results.c.id,
            results.c.case_hash,
            results.c.metric,
            results.c.environment,
            results.c.fingerprint,
            results.c.policy,
            results.c.node,
            results.c.place,
            results.c.outcome,
            results.c.n_samples,
            type_coerce(results.c.detail, Text).label("detail"),
            type_coerce(results.c.warnings, Text).label("warnings"),
            samples.c.payload,
        )
        .outerjoin(samples, samples.c.result_id == results.c.id)
        .order_by(results.c.id)
    )
    for row in connection.execution_options(yield_per=PAGE).execute(query):
        yield from _result(row)


def _result(row: Any) -> Iterator[str]:
    name = f"result {row.id} ({row.metric} of case {row.case_hash})"
    key = (row.case_hash, row.metric, row.environment, row.fingerprint, row.policy, row.node)
    if row.place != result_key(*key)[2]:
        yield f"{name} is filed under {row.place!r}, which is not where it was measured"
    if row.outcome not in OUTCOMES:
        yield f"{name} has the unknown outcome {row.outcome!r}"
    if not _is_json(row.detail) or not _is_json(row.warnings):
        yield f"{name} has details that are not JSON"
    if row.payload is None:
        if row.n_samples:
            yield f"{name}: missing {plural(row.n_samples, 'sample')}"
        return
    try:
        taken = len(payload.unpack(row.payload))
    except BROKEN as error:
        yield f"{name}: its samples are damaged ({error})"
        return
    if taken != row.n_samples:
        yield f"{name} has {taken} samples where {row.n_samples} were stored"


def _is_json(text: str | None) -> bool:
    try:
        json.loads(text or "")
    except BROKEN:
        return False
    return True
