"""The connection: transactions that read, transactions that write, errors people can act on."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from opbench.errors import UserError
from opbench.store.connection import sqlite_file
from opbench.store.connection.address import Address, parse_address
from opbench.store.connection.outage import Outages
from opbench.store.connection.server import check_privileges, refusal, server_engine
from opbench.store.errors import StoreError
from opbench.store.schema import OlderSchema, build, check_version, found_version, migrate
from opbench.store.tables import SCHEMA_VERSION

T = TypeVar("T")

#: How long a writer waits for the others. One transaction takes about a millisecond, so this is
#: reached only when a process is stopped in the middle of one.
BUSY_SECONDS = 30


#: What reading a row can end in that was changed behind our back.
BROKEN = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError, zlib.error,
)  # fmt: skip


class Database:
    def __init__(self, address: Address, engine: Engine, readonly: bool = False):
        self.address = address
        self.engine = engine
        self.readonly = readonly
        self.outages = Outages(address.place)
        self._file = address.path.absolute() if address.path is not None else None
        #: Of the file: device and number, as they were after the first thing that was written.
        self._identity: tuple[int, int] | None = None

    @classmethod
    def open(cls, where: str | Path | None, create: bool) -> Database:
        address = parse_address(where)
        if address.path is None:
            return _open_server(address, create)
        return _open_file(address, address.path, create)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction, in which every question sees the same moment of the store."""
        with self._explained("read"), self._sound(), self.engine.connect() as connection:
            if self.address.path is None:  # SQLite always reads so
                connection = connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, statements: int = 2) -> Iterator[Connection]:
        """One transaction, committed at the end of the block and not before.

        On a server a block of one statement is its own transaction, without the two round
        trips that begin and commit one.
        """
        if self.readonly:
            raise StoreError(f"{self.address.place} is read-only: nothing can be written to it")
        options: dict[str, Any] = {"opbench_writes": True}
        if statements == 1 and self.address.path is None:
            options["isolation_level"] = "AUTOCOMMIT"
        with self._explained("write"), self.engine.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():
                yield connection
        self._check_identity()

    def _check_identity(self) -> None:
        """SQLite goes on writing to a file that was deleted, moved or replaced."""
        if self._file is None:
            return
        try:
            found = self._file.stat()
            identity = (found.st_dev, found.st_ino)
        except OSError:
            identity = None
        self._identity = self._identity or identity
        if identity is None or identity != self._identity:
            raise StoreError(
                f"{self.address.place} was deleted, moved or replaced while it was being written "
                "to: what this command stored is lost, or where the file is now"
            )

    def write(self, step: Callable[[Connection], T], statements: int = 2) -> T:
        """What the step gives in a transaction of its own. While a server is away it is tried
        again, so the step must do no harm the second time."""

        def once() -> T:
            with self.writing(statements) as connection:
                return step(connection)

        return self.outages.through(once)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Rows that do not hold what they should: nothing of ours wrote them so."""
        try:
            yield
        except UserError:
            raise
        except BROKEN as error:
            raise StoreError(
                f"{self.address.place} is damaged ({type(error).__name__}: {error}); "
                "`opbench store check` lists what is wrong"
            ) from error

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
    if (refused := refusal(said, place)) is not None:
        return refused + safe
    if "is full" in lower or "no space" in lower or "disk full" in lower:
        return (
            f"the disk is full: cannot write to {place}{safe}; make room, then try again "
            "(a run: with --cont)"
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
    writable = _may_write(path) and _may_write(path.absolute().parent)
    older = None
    try:
        sqlite_file.inspect(path)
    except OlderSchema as error:
        if not writable:
            raise
        older = error.found
    if create and not writable:
        raise StoreError(f"{path} is read-only: no results could be written to it")
    database = Database(address, _file_engine(address, path, writable), readonly=not writable)
    if older is not None:
        _upgrade_file(database)
    return database


def _upgrade_file(database: Database) -> None:
    """A file is one person's: it follows the opbench that opens it. (A server is a team's, and
    changes when somebody says so.)"""
    with database.writing() as connection:
        # Looked at again under the lock: another process may have been quicker.
        found = found_version(connection, database.address.place) or 0
        if found < SCHEMA_VERSION:
            migrate(connection, found)
            sqlite_file.write_header(connection)
    with closing(database.engine.raw_connection()) as raw:
        # The header is read from the file itself, so it must not wait in the log.
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _file_engine(address: Address, path: Path, writable: bool) -> Engine:
    # `rw` and not `rwc`: a store that was deleted meanwhile must not come back empty. Without
    # write access a log cannot be shared, so a file without one is read as it lies.
    mode = "mode=rw" if writable else "mode=ro" if sqlite_file.has_log(path) else "immutable=1"

    def connect() -> Any:
        connection = sqlite_file.connect(path, mode, timeout=BUSY_SECONDS)
        try:
            sqlite_file.check_objects(connection, path)
        except sqlite_file.FAULTS as error:
            connection.close()
            raise StoreError(f"{path} is damaged ({error}); left untouched") from None
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
            build(connection)
            sqlite_file.write_header(connection)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except SQLAlchemyError as error:
        raise StoreError(explain(error, str(path.parent), "write to")) from error
    finally:
        engine.dispose()


def _open_server(address: Address, create: bool) -> Database:
    database = Database(address, server_engine(address))
    place = address.place
    try:
        with database.reading() as connection:
            found = found_version(connection, place)
        if found is None:
            if not create:
                raise StoreError(f"there is no opbench store in {place}: `opbench run` makes one")
            found = _create_on(database)
        check_version(found, place)
        with database.reading() as connection:
            check_privileges(connection, place, writes=create)
    except BaseException:
        database.close()
        raise
    return database


def _create_on(database: Database) -> int:
    try:
        with database.writing() as connection:
            build(connection)
        return SCHEMA_VERSION
    except StoreError:
        # Another process may have created it at the same moment.
        with database.reading() as connection:
            found = found_version(connection, database.address.place)
        if found is None:
            raise
        return found


def upgrade(where: str | Path | None) -> tuple[int, int]:
    """Bring an existing store to this schema; the schemas before and after."""
    address = parse_address(where)
    if address.path is not None:
        before = sqlite_file.schema_of(address.path)
        Database.open(where, create=False).close()  # a file is brought up to date when opened
        return before, SCHEMA_VERSION
    database = Database(address, server_engine(address))
    try:
        with database.writing() as connection:
            found = found_version(connection, address.place)
            if found is None:
                raise StoreError(f"there is no opbench store in {address.place}")
            try:
                check_version(found, address.place)
            except OlderSchema:
                migrate(connection, found)
        return found, SCHEMA_VERSION
    finally:
        database.close()
