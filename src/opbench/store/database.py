"""The connection: transactions that read, transactions that write, errors people can act on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from opbench.store import sqlite_file
from opbench.store.address import Address, parse_address
from opbench.store.errors import StoreError
from opbench.store.tables import APPLICATION, SCHEMA_VERSION, meta, metadata

#: How long a writer waits for the others. One transaction takes about a millisecond, so this is
#: reached only when a process is stopped in the middle of one.
BUSY_SECONDS = 30


class Database:
    def __init__(self, address: Address, engine: Engine, readonly: bool = False):
        self.address = address
        self.engine = engine
        self.readonly = readonly

    @classmethod
    def open(cls, where: str | Path | None, create: bool) -> Database:
        address = parse_address(where)
        if address.path is None:
            return _open_server(address, create)
        return _open_file(address, address.path, create)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._explained("read"), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, committed at the end of the block and not before."""
        if self.readonly:
            raise StoreError(f"{self.address.place} is read-only: nothing can be written to it")
        with self._explained("write"), self.engine.connect() as connection:
            connection = connection.execution_options(opbench_writes=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreError(explain(error, self.address.place, doing)) from error


def explain(error: SQLAlchemyError, place: str, doing: str) -> str:
    """One line on what the database said, and on what is not lost."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    safe = "; results finished before this are safe" if doing == "write" else ""
    lower = said.lower()
    if "is full" in lower or "no space" in lower or "disk full" in lower:
        return (
            f"the disk is full: cannot write to {place}{safe}; make room, then continue with --cont"
        )
    if "readonly" in lower or "read-only" in lower:
        return f"{place} is read-only: cannot write to it{safe}"
    if "locked" in lower or "busy" in lower:
        return f"{place} is busy: another process held it for over {BUSY_SECONDS} s{safe}"
    if "malformed" in lower or "not a database" in lower:
        return f"{place} is damaged ({said})"
    return f"cannot {doing} {place}: {said}{safe}"


def _open_file(address: Address, path: Path, create: bool) -> Database:
    try:
        exists = path.exists()
    except OSError as error:
        raise StoreError(f"cannot reach the store {path}: {error.strerror}") from None
    if not exists:
        if not create:
            raise StoreError(
                f"there is no store at {path}: `opbench run` makes one, or name it with --store"
            )
        sqlite_file.create(path, _build_file)
    sqlite_file.inspect(path)
    writable = _may_write(path) and _may_write(path.absolute().parent)
    if create and not writable:
        raise StoreError(f"{path} is read-only: no results could be written to it")
    return Database(address, _file_engine(address, path, writable), readonly=not writable)


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _file_engine(address: Address, path: Path, writable: bool) -> Engine:
    # `rw` and not `rwc`: a store that was deleted meanwhile must not come back empty. Without
    # write access a log cannot be shared, so a file without one is read as it lies.
    mode = "mode=rw" if writable else "mode=ro" if sqlite_file.has_log(path) else "immutable=1"

    def connect() -> Any:
        connection = sqlite_file.connect(path, mode, timeout=BUSY_SECONDS)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        connection.execute("PRAGMA foreign_keys = ON")
        if writable:
            connection.execute("PRAGMA journal_mode = WAL")
            # With a write-ahead log, NORMAL survives the death of any process; a power cut may
            # take the last commits but never the file.
            connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    engine = create_engine(address.url, creator=connect, poolclass=QueuePool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer queues for the lock at once: one that read first and then wants to write is
        # refused without waiting.
        writes = connection.get_execution_options().get("opbench_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _build_file(path: Path) -> None:
    engine = create_engine(
        "sqlite://", creator=lambda: sqlite_file.connect(path, "mode=rw"), poolclass=QueuePool
    )
    try:
        with engine.begin() as connection:
            _build(connection)
            sqlite_file.mark(connection)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except SQLAlchemyError as error:
        raise StoreError(explain(error, str(path.parent), "write to")) from error
    finally:
        engine.dispose()


def _build(connection: Connection) -> None:
    metadata.create_all(connection)
    connection.execute(
        insert(meta),
        [
            {"key": "application", "value": APPLICATION},
            {"key": "schema_version", "value": str(SCHEMA_VERSION)},
        ],
    )


def _open_server(address: Address, create: bool) -> Database:
    try:
        engine = create_engine(address.url, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL stores need the package {error.name}: pip install 'opbench[postgres]'"
        ) from None
    database = Database(address, engine)
    try:
        if not _has_schema(database):
            if not create:
                raise StoreError(f"there is no opbench store in {address.place}")
            try:
                with database.writing() as connection:
                    _build(connection)
            except StoreError:
                # Another process may have created it at the same moment.
                if not _has_schema(database):
                    raise
    except BaseException:
        database.close()
        raise
    return database


def _has_schema(database: Database) -> bool:
    """Whether the database holds our tables; raises when it holds others of those names."""
    place = database.address.place
    with database.reading() as connection:
        clash = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
        if not clash:
            return False
        found: dict[str, str] = {}
        if clash == sorted(metadata.tables):
            rows = connection.execute(select(meta.c.key, meta.c.value))
            found = {row.key: row.value for row in rows}
    if found.get("application") != APPLICATION:
        raise StoreError(
            f"{place} has tables of another program ({', '.join(clash)}); left untouched"
        )
    sqlite_file.check_version(int(found["schema_version"]), place)
    return True
