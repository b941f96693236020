"""Writing rows so that writing one twice does no harm, in as few round trips as can be.

`INSERT … ON CONFLICT DO NOTHING` is the same SQL in SQLite and PostgreSQL; SQLAlchemy only spells
it in two places. A server is a network away, so there a single result with its samples is one
statement, and many results are three, however many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, select

from opbench.case import Case
from opbench.result import Result
from opbench.store import payload, tables
from opbench.store.rows import case_row, result_row

#: What makes a result unique.
KEY = ("run_id", "case_hash", "metric", "place", "policy")


def insert_new(connection: Connection, table: Table) -> Any:
    """An insert that leaves a row alone when its key is already there."""
    # The one in use is loaded; the other would cost each command 50 ms.
    dialect: Any = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    return dialect.insert(table).on_conflict_do_nothing()


def insert_cases(connection: Connection, cases: Sequence[Case]) -> None:
    if cases:
        connection.execute(insert_new(connection, tables.cases), list(map(case_row, cases)))


def insert_results(
    connection: Connection, run_id: str, results: Sequence[Result], replace: bool = False
) -> int:
    """How many were stored: those whose key was taken are not, unless `replace`."""
    rows = [result_row(run_id, result) for result in results]
    if replace:
        for row in rows:
            # The samples go with it (ON DELETE CASCADE).
            wanted = (tables.results.c[name] == row[name] for name in KEY)
            connection.execute(delete(tables.results).where(*wanted))
    return insert_rows(connection, rows, [_packed(result) for result in results])


def remove_given_up(connection: Connection, run_id: str, results: Sequence[Result]) -> None:
    """The outcomes, on no node, of the same cases and metrics: a node has measured them now."""
    table = tables.results.c
    for result in results:
        connection.execute(
            delete(tables.results).where(
                table.run_id == run_id,
                table.node == "",
                table.case_hash == result.case_hash,
                table.metric == result.metric,
                table.environment == result.environment,
                table.policy == result.policy,
            )
        )


def insert_rows(
    connection: Connection, rows: Sequence[dict[str, Any]], payloads: Sequence[bytes | None]
) -> int:
    """Rows of `results`, each with its packed samples or None; how many were new."""
    if len(rows) == 1 and connection.dialect.name == "postgresql":
        return _insert_one(connection, rows[0], payloads[0])
    if not rows:
        return 0
    table = tables.results
    new = insert_new(connection, table).returning(table.c.id, *(table.c[name] for name in KEY))
    found = connection.execute(new, list(rows)).all()
    packed: dict[tuple[Any, ...], bytes | None] = {}
    for row, blob in zip(rows, payloads, strict=True):
        key = tuple(tables.plain_text(row[name]) for name in KEY)
        packed.setdefault(key, blob)  # of two alike the first counts
    samples = [
        {"result_id": number, "payload": blob}
        for number, *key in found
        if (blob := packed[tuple(key)]) is not None
    ]
    if samples:
        connection.execute(insert(tables.samples), samples)
    return len(found)


def _insert_one(connection: Connection, row: dict[str, Any], blob: bytes | None) -> int:
    """The result and its samples in one statement: one round trip to a server."""
    table = tables.results
    new = insert_new(connection, table).returning(table.c.id)
    if blob is None:
        return len(connection.execute(new, row).all())
    # Bound by name, so that the text of the statement is the same each time and prepared once.
    stored = new.values({name: bindparam(name, type_=table.c[name].type) for name in row}).cte(
        "new"
    )
    blob_type = tables.samples.c.payload.type
    both = (
        insert(tables.samples)
        .from_select(
            ["result_id", "payload"], select(stored.c.id, bindparam("payload", type_=blob_type))
        )
        .returning(tables.samples.c.result_id)
    )
    return len(connection.execute(both, {**row, "payload": blob}).all())


def _packed(result: Result) -> bytes | None:
    return payload.pack(result.samples) if result.samples else None
