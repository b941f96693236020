"""One case over all runs: light rows, without samples and without the source of the case."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, select, type_coerce

from opbench.store.tables import cases, environments, results, runs


@dataclass(frozen=True)
class StoredPoint:
    """One result of the case, with what its run says of where and when."""

    run_id: str
    run_name: str
    #: When the run began: seconds since the epoch.
    created: float
    commit: str
    version: str
    machine: dict[str, Any]
    case_hash: str
    unit: str
    outcome: str
    reason: str
    estimate: float | None
    low: float | None
    high: float | None
    environment: str
    fingerprint: str
    #: The node of a fleet that measured it; nothing for a run on one machine.
    node: str = ""


def read_points(connection: Connection, case_id: str, metric: str) -> list[StoredPoint]:
    """Oldest run first, in a run by arrival; of every version of the case."""
    hashes = select(cases.c.hash).where(cases.c.id == case_id)
    query = (
        select(
            results.c.run_id,
            runs.c.name,
            runs.c.created,
            runs.c.project_commit,
            runs.c.version,
            # As text: it is parsed once per run below, and not once per result.
            type_coerce(runs.c.machine, Text),
            results.c.case_hash,
            results.c.unit,
            results.c.outcome,
            results.c.reason,
            results.c.estimate,
            results.c.low,
            results.c.high,
            results.c.environment,
            results.c.fingerprint,
            results.c.node,
        )
        .join(runs, runs.c.id == results.c.run_id)
        .where(results.c.case_hash.in_(hashes), results.c.metric == metric)
        .order_by(runs.c.created, runs.c.id, results.c.id)
    )
    machines: dict[str, dict[str, Any]] = {}
    found = []
    for run_id, name, created, commit, version, machine, *rest in connection.execute(query):
        if run_id not in machines:
            machines[run_id] = json.loads(machine) or {}
        found.append(StoredPoint(run_id, name, created, commit, version, machines[run_id], *rest))
    return found


def read_metrics(connection: Connection, case_id: str) -> list[str]:
    hashes = select(cases.c.hash).where(cases.c.id == case_id)
    query = select(results.c.metric).where(results.c.case_hash.in_(hashes)).distinct()
    return sorted(connection.scalars(query))


def read_environments(
    connection: Connection, fingerprints: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Facts by fingerprint, of those that are known."""
    query = select(environments.c.fingerprint, environments.c.facts)
    rows = connection.execute(query.where(environments.c.fingerprint.in_(set(fingerprints))))
    return {row.fingerprint: row.facts for row in rows}
