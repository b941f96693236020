"""Writing rows so that writing one twice does no harm.

`INSERT … ON CONFLICT DO NOTHING` is the same SQL in SQLite and PostgreSQL; SQLAlchemy only spells
it in two places.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, delete, insert
from sqlalchemy.dialects import postgresql, sqlite

from opbench.case import Case
from opbench.result import Result
from opbench.store import payload, tables
from opbench.store.rows import case_row, result_row


def insert_new(connection: Connection, table: Table) -> Any:
    """An insert that leaves a row alone when its key is already there."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing()


def insert_case(connection: Connection, case: Case) -> None:
    connection.execute(insert_new(connection, tables.cases), case_row(case))


def insert_result(connection: Connection, run_id: str, result: Result, replace: bool) -> bool:
    """Whether the result was stored: not so when its key was taken and `replace` is off."""
    table = tables.results
    row = result_row(run_id, result)
    if replace:
        key = ("run_id", "case_hash", "metric", "place", "policy")
        # The samples go with it (ON DELETE CASCADE).
        connection.execute(delete(table).where(*(table.c[name] == row[name] for name in key)))
    new = insert_new(connection, table).returning(table.c.id)
    result_id = connection.execute(new, row).scalar_one_or_none()
    if result_id is None:
        return False
    if result.samples:
        connection.execute(
            insert(tables.samples),
            {"result_id": result_id, "payload": payload.pack(result.samples)},
        )
    return True
