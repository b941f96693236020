"""Reading results and cases back."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from opbench.case import Case
from opbench.store import payload
from opbench.store.errors import StoreError
from opbench.store.records import StoredResult
from opbench.store.rows import result_from_row
from opbench.store.tables import cases, results, runs, samples


def read_results(
    connection: Connection, wanted: Sequence[ColumnElement[bool]], with_samples: bool
) -> list[StoredResult]:
    """Oldest run first, in a run by time: numbers are a store's own, and a copy has others."""
    query: Select[Any] = select(results).join(runs, runs.c.id == results.c.run_id)
    if with_samples:
        query = query.add_columns(samples.c.payload).outerjoin(
            samples, samples.c.result_id == results.c.id
        )
    query = query.where(*wanted).order_by(
        runs.c.created, runs.c.id, results.c.created, results.c.id
    )
    # Each case once, not once per result: its source is the largest thing in a row.
    by_hash = read_cases(
        connection, cases.c.hash.in_(select(results.c.case_hash).where(*wanted).distinct())
    )
    found = []
    # All at once: row by row takes the driver twice as long.
    for row in connection.execute(query).mappings().all():
        packed = row["payload"] if with_samples else None
        found.append(
            StoredResult(
                run_id=row["run_id"],
                case=by_hash[row["case_hash"]],
                result=result_from_row(row, _unpacked(packed, row["id"])),
                n_samples=row["n_samples"],
            )
        )
    return found


def read_packed_samples(
    connection: Connection, wanted: Sequence[ColumnElement[bool]]
) -> Iterator[tuple[tuple[str, str, str], bytes]]:
    """((case hash, environment, metric), payload): samples as they are stored, for `payload`."""
    query = select(
        results.c.case_hash, results.c.environment, results.c.metric, samples.c.payload
    ).join(samples, samples.c.result_id == results.c.id)
    for case_hash, environment, metric, packed in connection.execute(query.where(*wanted)).all():
        yield (case_hash, environment, metric), packed


def read_cases(connection: Connection, wanted: ColumnElement[bool]) -> dict[str, Case]:
    """By the hash they are stored under."""
    rows = connection.execute(select(cases.c.hash, cases.c.source).where(wanted)).all()
    found = {case_hash: Case.from_dict(source) for case_hash, source in rows}
    for case_hash, case in found.items():
        # Known already, and computing it again takes longer than reading the case.
        vars(case)["hash"] = case_hash
    return found


def _unpacked(packed: bytes | None, result_id: int) -> tuple[Any, ...]:
    if packed is None:
        return ()
    try:
        return payload.unpack(packed)
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreError(f"the samples of result {result_id} are damaged ({error})") from None
