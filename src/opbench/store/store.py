"""The store: runs begin, results arrive one by one, questions are answered from them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from opbench.case import Case
from opbench.errors import unknown
from opbench.result import Key, Result
from opbench.store import tables
from opbench.store.connection.database import Database
from opbench.store.connection.outage import Outages
from opbench.store.errors import StoreError
from opbench.store.history import StoredHistory, read_environments, read_history, read_metrics
from opbench.store.insertion import (
    insert_cases,
    insert_new,
    insert_results,
    remove_given_up,
)
from opbench.store.lookup import find_case_hashes, find_run_id
from opbench.store.queries import read_cases, read_packed_samples, read_results
from opbench.store.records import RUN_STATUSES, RunRecord, StoredResult, StoredVariance
from opbench.store.rows import run_from_row, run_row
from opbench.store.start_variances import read_variances, write_variances


class Store:
    """Open with `Store.open`. Every method is one transaction; many processes may share a store."""

    def __init__(self, database: Database):
        self._database = database
        #: Hashes known to be stored, so that a case's source is sent once and not per result.
        self._known_cases: set[str] = set()

    @classmethod
    def open(cls, where: str | Path | None = None, create: bool = True) -> Store:
        """A path ending in .db, `sqlite:///…`, `postgresql://…`, or the default.

        `create` says that results will be written: a missing store is created, and a read-only one
        refused.
        """
        return cls(Database.open(where, create))

    @property
    def url(self) -> str:
        """Safe to show: without the password."""
        return self._database.address.shown

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store."""
        return self._database.address.path

    @property
    def outages(self) -> Outages:
        """How long a server that does not answer is waited for when something is written."""
        return self._database.outages

    def __repr__(self) -> str:
        return f"Store({self._database.address.place})"

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ runs

    def begin_run(self, run: RunRecord) -> None:
        self.add_run(run)

    def add_run(
        self,
        run: RunRecord,
        pairs: Iterable[tuple[Case, Result]] = (),
        environments: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    ) -> None:
        """A run with all its results (and environments by fingerprint), or nothing of it."""
        batch, new = self._batch(pairs)
        facts = [{"fingerprint": each, "facts": environments[each]} for each in environments]
        tries = 0

        def write(connection: Connection) -> None:
            nonlocal tries
            tries += 1
            connection.execute(insert(tables.runs), run_row(run))
            for row in facts:
                connection.execute(insert_new(connection, tables.environments), row)
            if batch:
                insert_cases(connection, new)
                insert_results(connection, run.id, [result for _, result in batch], False)

        try:
            self._database.write(write)
            self._known_cases |= {case.hash for case in new}
        except StoreError as error:
            if not _violates(error, "unique"):
                raise
            if tries == 1:  # else the server had stored it, and only its answer was lost
                raise StoreError(f"the store already has a run {run.id}") from None

    def finish_run(self, run_id: str, status: str = "finished") -> None:
        self._set_status(run_id, status, None if status == "running" else time.time())

    def resume_run(self, run_id: str) -> None:
        """Back to `running`, for `--cont`."""
        self._set_status(run_id, "running", None)

    def _set_status(self, run_id: str, status: str, finished: float | None) -> None:
        if status not in RUN_STATUSES:
            raise ValueError(unknown("status", status, RUN_STATUSES))
        query = update(tables.runs).where(tables.runs.c.id == run_id)
        query = query.values(status=status, finished=finished)
        if not self._database.write(lambda connection: connection.execute(query).rowcount):
            raise StoreError(f"the store has no run {run_id}")

    def rename_run(self, run_id: str, name: str) -> None:
        with self._database.writing() as connection:
            changed = connection.execute(
                update(tables.runs).where(tables.runs.c.id == run_id).values(name=name)
            )
            if not changed.rowcount:
                raise StoreError(f"the store has no run {run_id}")

    def delete_run(self, run_id: str) -> None:
        """With its results and their samples, and with the cases that no other run has. While a run
        is measured cases stay: its process does not send those again that it has sent."""
        runs, results, cases = tables.runs.c, tables.results.c, tables.cases.c
        with self._database.writing() as connection:
            changed = connection.execute(delete(tables.runs).where(runs.id == run_id))
            if not changed.rowcount:
                raise StoreError(f"the store has no run {run_id}")
            busy = select(runs.id).where(runs.status == "running").limit(1)
            if connection.scalar(busy) is None:
                of_others = select(results.case_hash).where(results.case_hash == cases.hash)
                connection.execute(delete(tables.cases).where(~of_others.exists()))
        self._known_cases.clear()

    def runs(self, limit: int | None = None) -> list[RunRecord]:
        """Newest first."""
        order = (tables.runs.c.created.desc(), tables.runs.c.id.desc())
        with self._database.reading() as connection:
            rows = connection.execute(select(tables.runs).order_by(*order).limit(limit))
            return [run_from_row(row) for row in rows.all()]

    def find_run(self, ref: str) -> RunRecord:
        """`last`, `last~1`, an id, a unique beginning of one, or a name (its latest run)."""
        with self._database.reading() as connection:
            run_id = find_run_id(connection, ref)
            rows = connection.execute(select(tables.runs).where(tables.runs.c.id == run_id))
            return run_from_row(rows.one())

    def tally(self, run: str | RunRecord | None = None) -> dict[str, dict[str, int]]:
        """How many results of each outcome, by run id."""
        columns = (tables.results.c.run_id, tables.results.c.outcome)
        query = select(*columns, func.count()).group_by(*columns)
        if run is not None:
            query = query.where(tables.results.c.run_id == _run_id(run))
        counts: dict[str, dict[str, int]] = {}
        with self._database.reading() as connection:
            for run_id, outcome, count in connection.execute(query):
                counts.setdefault(run_id, {})[outcome] = count
        return counts

    # ---------------------------------------------------------- environments

    def add_environment(self, fingerprint: str, facts: dict[str, Any]) -> None:
        row = {"fingerprint": fingerprint, "facts": facts}
        self._database.write(
            lambda connection: connection.execute(insert_new(connection, tables.environments), row)
        )

    def environment(self, fingerprint: str) -> dict[str, Any] | None:
        return self.environments([fingerprint]).get(fingerprint)

    def environments(self, fingerprints: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Facts by fingerprint, of those that are known."""
        with self._database.reading() as connection:
            return read_environments(connection, fingerprints)

    # ------------------------------------------------------- the machine

    def add_start_variances(
        self, run_id: str, machine: str, found: Iterable[StoredVariance]
    ) -> None:
        """How much worker starts scattered in (this part of) a run."""
        found = list(found)
        self._database.write(lambda connection: write_variances(connection, run_id, machine, found))

    def start_variances(self, machine: str) -> list[StoredVariance]:
        """The same of the latest runs on that machine, newest first."""
        with self._database.reading() as connection:
            return read_variances(connection, machine)

    # --------------------------------------------------------------- results

    def add_result(self, run_id: str, case: Case, result: Result, replace: bool = False) -> bool:
        """Committed when this returns. Of two results with one key the first stays, unless
        `replace`; the answer says whether this one was stored."""
        return self.add_results(run_id, [(case, result)], replace) == 1

    def add_results(
        self, run_id: str, pairs: Iterable[tuple[Case, Result]], replace: bool = False
    ) -> int:
        """All or none, in one transaction; how many were new."""
        batch, new = self._batch(pairs)
        alone = len(batch) == 1 and not new and not replace

        def write(connection: Connection) -> int:
            insert_cases(connection, new)
            return insert_results(connection, run_id, [r for _, r in batch], replace)

        try:
            stored = self._database.write(write, statements=1 if alone else 2)
        except StoreError as error:
            if _violates(error, "foreign key"):
                raise StoreError(f"the store has no run {run_id}: begin it first") from error
            raise
        self._known_cases |= {case.hash for case in new}
        return stored

    def _batch(
        self, pairs: Iterable[tuple[Case, Result]]
    ) -> tuple[list[tuple[Case, Result]], list[Case]]:
        """The results to be stored, and the cases that are to be stored with them. In order of the
        key: writers that meet in PostgreSQL then wait for each other, never both."""
        batch = sorted(pairs, key=lambda pair: pair[1].key())
        for case, result in batch:
            if result.case_hash != case.hash:
                raise ValueError(f"result of {result.case_hash} given with case {case.hash}")
        new = {case.hash: case for case, _ in batch if case.hash not in self._known_cases}
        return batch, [new[case_hash] for case_hash in sorted(new)]

    def add_group(self, run_id: str, pairs: Sequence[tuple[Case, Result]], most: int = 1) -> bool:
        """What one node of a fleet measured together: stored as a whole, unless `most` nodes have
        stored it already; the answer says whether it was.

        The count is taken under a lock, so that two drivers of one run cannot both be right.
        """
        if not pairs:
            return True
        batch, new = self._batch(pairs)
        first, table = batch[0][1], tables.results.c
        run = select(tables.runs.c.id).where(tables.runs.c.id == run_id).with_for_update()
        nodes_with_it = (
            select(table.node)
            .distinct()
            .where(
                table.run_id == run_id,
                table.case_hash == first.case_hash,
                table.metric == first.metric,
                table.environment == first.environment,
                table.policy == first.policy,
            )
        )

        def write(connection: Connection) -> bool:
            if connection.scalar(run) is None:
                raise StoreError(f"the store has no run {run_id}: begin it first")
            nodes = set(connection.scalars(nodes_with_it))
            if "" in nodes and first.node:
                # An earlier attempt was given up, on no node in particular: this replaces it.
                remove_given_up(connection, run_id, [result for _, result in batch])
                nodes.remove("")
            if len(nodes) >= most or first.node in nodes:
                return False
            insert_cases(connection, new)
            insert_results(connection, run_id, [result for _, result in batch])
            return True

        stored = self._database.write(write)
        self._known_cases |= {case.hash for case in new}
        return stored

    def done_keys(self, run_id: str, outcome: str | None = None) -> set[Key]:
        """`Result.key()` of what the run has: of every outcome, or of one (`"ok"`)."""
        table = tables.results.c
        query = select(table.case_hash, table.metric, table.place, table.policy)
        query = query.where(table.run_id == run_id)
        if outcome is not None:
            query = query.where(table.outcome == outcome)
        with self._database.reading() as connection:
            return {(row[0], row[1], row[2], row[3]) for row in connection.execute(query)}

    def results(
        self,
        run: str | RunRecord | None = None,
        case_id: str | None = None,
        case_hash: str | None = None,
        metric: str | None = None,
        outcome: str | None = None,
        environment: str | None = None,
        samples: bool = False,
    ) -> list[StoredResult]:
        """Oldest run first, in a run by arrival. Raw samples only when asked for: they are the
        bulk of a store."""
        table = tables.results.c
        wanted: list[ColumnElement[bool]] = []
        if case_id is not None:
            hashes = select(tables.cases.c.hash).where(tables.cases.c.id == case_id)
            wanted.append(table.case_hash.in_(hashes))
        for column, value in (
            (table.run_id, None if run is None else _run_id(run)),
            (table.case_hash, case_hash),
            (table.metric, metric),
            (table.outcome, outcome),
            (table.environment, environment),
        ):
            if value is not None:
                wanted.append(column == value)
        with self._database.reading() as connection:
            return read_results(connection, wanted, samples)

    def packed_samples(self, run: str | RunRecord) -> dict[tuple[str, str, str], bytes]:
        """Samples of a run by case hash, environment and metric, for `payload` to unpack."""
        with self._database.reading() as connection:
            wanted = [tables.results.c.run_id == _run_id(run)]
            return dict(read_packed_samples(connection, wanted))

    def history(
        self,
        *,
        run: str | RunRecord | None = None,
        case_id: str | None = None,
        metric: str | None = None,
        last: int | None = None,
    ) -> StoredHistory:
        """Every case of one run, or one case, over all runs (or the `last` that have results)."""
        run_id = None if run is None else _run_id(run)
        with self._database.reading() as connection:
            return read_history(
                connection, run_id=run_id, case_id=case_id, metric=metric, last=last
            )

    # ----------------------------------------------------------------- cases

    def metrics_of(self, case_id: str) -> list[str]:
        """Names of the metrics that results of the case are stored for."""
        with self._database.reading() as connection:
            return read_metrics(connection, case_id)

    def cases(self, run: str | RunRecord | None = None) -> list[Case]:
        """By id; of the whole store, or those with a result in one run."""
        query = select(tables.cases.c.source).order_by(tables.cases.c.id, tables.cases.c.first_seen)
        if run is not None:
            in_run = select(tables.results.c.case_hash).where(
                tables.results.c.run_id == _run_id(run)
            )
            query = query.where(tables.cases.c.hash.in_(in_run))
        with self._database.reading() as connection:
            return [Case.from_dict(source) for source in connection.scalars(query)]

    def case_ids(self, run: str | RunRecord) -> set[str]:
        """Ids of the cases with a result in the run."""
        own = select(tables.results.c.case_hash).where(tables.results.c.run_id == _run_id(run))
        query = select(tables.cases.c.id).where(tables.cases.c.hash.in_(own))
        with self._database.reading() as connection:
            return set(connection.scalars(query))

    def find_cases(self, text: str) -> list[Case]:
        """The one case that `text` names (id, hash, or a unique part), newest version first."""
        with self._database.reading() as connection:
            hashes = find_case_hashes(connection, text)
            found = read_cases(connection, tables.cases.c.hash.in_(hashes))
            return [found[case_hash] for case_hash in hashes]


def _run_id(run: str | RunRecord) -> str:
    return run.id if isinstance(run, RunRecord) else run


def _violates(error: StoreError, constraint: str) -> bool:
    """Whether the database refused a row for a constraint of this kind (both name it so)."""
    cause = error.__cause__
    return isinstance(cause, IntegrityError) and constraint in str(cause.orig).lower()
