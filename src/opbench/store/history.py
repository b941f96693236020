"""Cases over all runs, in one reading: rows without samples and without sources.

A thousand runs of a thousand cases are a million results. What results of one run and environment
share is therefore read and kept once, as their `Origin`, and a row holds only what is its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Double, exists, select, type_coerce

from opbench.store.facts import hardware_of, section
from opbench.store.records import RunRecord
from opbench.store.rows import run_from_row
from opbench.store.tables import cases, environments, results, runs

#: Rows read at a time: one by one takes longer, and a million together too much memory.
BATCH = 10_000


@dataclass(eq=False)
class Origin:
    """Where results come from: a run, one of its environments, and in a fleet one of its nodes."""

    run: RunRecord
    #: Position of the run among those of the history, oldest first.
    index: int
    environment: str
    fingerprint: str
    #: Of a fleet; empty for a run on one machine.
    node: str
    #: Of the environment; filled in when all rows are read, and empty where none were stored.
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def machine(self) -> str:
        return self.node or str(section(self.run.machine, "system").get("machine_id") or "")

    @property
    def hardware(self) -> str:
        """The processor, and devices where there are some: for people."""
        if not self.node:
            return hardware_of(self.run.machine)
        node = section(section(self.run.machine, "fleet"), self.node)
        gpus = [{"name": name} for name in node.get("gpus") or ()]
        return hardware_of({"cpu": {"model": node.get("cpu")}, "gpus": gpus})

    @property
    def built_from(self) -> str:
        """The commit that the environment was built from; empty for any other environment."""
        return str(section(self.facts, "interpreter").get("commit") or "")

    @property
    def commit(self) -> str:
        """The commit that was measured, whatever the project was on meanwhile."""
        return self.built_from or self.run.commit

    @property
    def dirty(self) -> bool:
        """Whether changes that are not committed were measured."""
        return not self.built_from and bool(section(self.run.machine, "git").get("dirty"))


class HistoryRow(NamedTuple):
    """One result, as much of it as a history needs."""

    origin: Origin
    case_hash: str
    outcome: str
    reason: str
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def run(self) -> RunRecord:
        return self.origin.run

    @property
    def ok(self) -> bool:
        return self.outcome == "ok" and self.estimate is not None and math.isfinite(self.estimate)


@dataclass
class StoredHistory:
    #: Oldest first; only those that have results of the cases.
    runs: list[RunRecord]
    #: By case id and metric, oldest first.
    rows: dict[tuple[str, str], list[HistoryRow]] = field(default_factory=dict)
    #: By metric: the unit of its latest result.
    units: dict[str, str] = field(default_factory=dict)


def read_history(
    connection: Connection,
    *,
    run_id: str | None = None,
    case_id: str | None = None,
    metric: str | None = None,
    last: int | None = None,
) -> StoredHistory:
    """Results of every run (or of the `last` that have some): of the cases, by id, that one run has
    results of, or of one case; of all metrics, or of one. Of every version of a case."""
    chosen: ColumnElement[bool] = cases.c.id == case_id
    if run_id is not None:
        own = select(results.c.case_hash).where(results.c.run_id == run_id)
        chosen = cases.c.id.in_(select(cases.c.id).where(cases.c.hash.in_(own)))
    wanted: list[ColumnElement[bool]] = [
        results.c.case_hash.in_(select(cases.c.hash).where(chosen))
    ]
    if metric is not None:
        wanted.append(results.c.metric == metric)
    having = select(runs).where(exists().where(results.c.run_id == runs.c.id, *wanted))
    latest_first = having.order_by(runs.c.created.desc(), runs.c.id.desc()).limit(last)
    found = StoredHistory([run_from_row(row) for row in connection.execute(latest_first).all()])
    found.runs.reverse()
    numbered = {run.id: (run, index) for index, run in enumerate(found.runs)}
    if run_id is not None and not numbered.keys() - {run_id}:
        return found  # a run alone is no history, and may have very many results
    known = {
        row.hash: (row.hash, row.id)
        for row in connection.execute(select(cases.c.hash, cases.c.id).where(chosen))
    }
    # Plain doubles: the store's own type calls a function for each of three million numbers.
    query = select(
        results.c.run_id,
        results.c.environment,
        results.c.fingerprint,
        results.c.node,
        results.c.metric,
        results.c.unit,
        results.c.case_hash,
        results.c.outcome,
        results.c.reason,
        type_coerce(results.c.estimate, Double),
        type_coerce(results.c.low, Double),
        type_coerce(results.c.high, Double),
    ).where(*wanted)
    # Of one case by an expression: for a plain column SQLite would scan all results in that order
    # rather than look up those of the case and sort them.
    arrival = results.c.id if run_id is not None else results.c.id + 0
    origins: dict[tuple[str, str, str, str], Origin] = {}
    rows = found.rows
    stream = connection.execute(query.order_by(arrival), execution_options={"yield_per": BATCH})
    for name, environment, fingerprint, node, measured, unit, hashed, *rest in stream:
        place = (name, environment, fingerprint, node)
        origin = origins.get(place)
        if origin is None:
            if name not in numbered:
                continue
            origin = Origin(*numbered[name], environment, fingerprint, node)
            origins[place] = origin
        found.units[measured] = unit
        case_hash, id = known[hashed]
        if type(unit) is not str or bytes in map(type, rest):
            raise ValueError(f"a result of case {hashed!r} has a field of the wrong type")
        if str in map(type, rest[2:]):  # a NaN, which SQLite keeps as text
            rest[2:] = (None if number is None else float(number) for number in rest[2:])
        row = HistoryRow(origin, case_hash, *rest)
        key = (id, measured)
        if key in rows:
            rows[key].append(row)
        else:
            rows[key] = [row]
    for members in rows.values():
        members.sort(key=attrgetter("origin.index"))  # stable: in a run by arrival
    facts = read_environments(connection, {origin.fingerprint for origin in origins.values()})
    for origin in origins.values():
        origin.facts = facts.get(origin.fingerprint, {})
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
    return {row.fingerprint: row.facts for row in rows if isinstance(row.facts, dict)}
