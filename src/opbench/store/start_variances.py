"""How much worker starts scattered in each run, kept for the next runs on the same machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from opbench.store.records import StoredVariance
from opbench.store.tables import runs, start_variances

#: Runs that are asked: a machine changes, and what it did months ago is not what it does now.
LATEST = 10

COLUMNS = [start_variances.c[name] for name in StoredVariance.__dataclass_fields__]


def write_variances(
    connection: Connection, run_id: str, machine: str, new: Iterable[StoredVariance]
) -> None:
    """What a continued run has already is added to."""
    mine = (start_variances.c.run_id == run_id, start_variances.c.machine == machine)
    before = {
        (row.metric, row.design): StoredVariance(*row)
        for row in connection.execute(select(*COLUMNS).where(*mine))
    }
    for each in new:
        kept = {"run_id": run_id, "machine": machine, **asdict(each)}
        earlier = before.get((each.metric, each.design))
        if earlier is not None:
            for name in ("cases", "freedom", "logs", "squares", "expected"):
                kept[name] += getattr(earlier, name)
            same = (
                start_variances.c.metric == each.metric,
                start_variances.c.design == each.design,
            )
            connection.execute(delete(start_variances).where(*mine, *same))
        connection.execute(insert(start_variances), kept)


def read_variances(connection: Connection, machine: str) -> list[StoredVariance]:
    """Of the latest runs on this machine that have any, newest first."""
    there = select(start_variances.c.run_id).where(start_variances.c.machine == machine)
    order = (runs.c.created.desc(), runs.c.id.desc())
    latest = select(runs.c.id).where(runs.c.id.in_(there)).order_by(*order).limit(LATEST)
    query = (
        select(*COLUMNS)
        .join(runs, runs.c.id == start_variances.c.run_id)
        .where(start_variances.c.machine == machine, runs.c.id.in_(latest))
        .order_by(*order)
    )
    return [StoredVariance(*row) for row in connection.execute(query)]
