"""The SQLite file as a file: looked at before it is opened, and born whole.

Opening a file with SQLite can change it (its journal mode, a log beside it), so whether a file is
ours is read from the application id in its header, and the rest is seen through an `immutable`
connection, which takes no lock and writes nothing. What is not ours is refused as it was.

While a process has a store open, it looks at that file through its connections alone
(`files.is_open_database`): it was inspected when it was first opened.

A new store is built under another name and then linked into place: no one ever sees half a schema,
and of two processes that create it at once, one wins and both use the winner's.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection

from opbench import children, files
from opbench.errors import first_of
from opbench.files import SQLITE
from opbench.store.errors import StoreError
from opbench.store.schema import OlderSchema, check_version
from opbench.store.tables import SCHEMA_VERSION

#: "opbn", in the four bytes where SQLite's header says whose file it is. The `meta` table says the
#: same in both kinds of database, but only the header can be read whatever state the log is in: a
#: disk that fills up during a checkpoint leaves half of the pages behind.
APPLICATION_ID = 0x6F70626E

#: Bytes of a text or blob: no message of a worker is longer, and what we write is far shorter.
LONGEST_VALUE = 64 << 20

#: Steps of SQLite's between two looks for a signal: some milliseconds.
STEPS = 1_000_000

#: Files up to this size are checked page by page when opened (about 10 ms at most); larger ones
#: are checked where they are read.
QUICK_CHECK_BYTES = 4_000_000

#: What SQLite says of a file it cannot read; with a broken name in it, not even that is text.
FAULTS = (sqlite3.Error, UnicodeError)


def inspect(path: Path) -> None:
    """Raise unless `path` is a store this version can use. Nothing on disk changes."""
    with files.database_lock:
        if not files.is_open_database(path):
            _inspect(path)


def _inspect(path: Path) -> None:
    try:
        if not path.is_file():
            raise StoreError(f"{path} is not a file")
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreError(f"cannot read the store {path}: {error.strerror}") from None
    if not header:
        raise StoreError(
            f"{path} is an empty file, not an opbench store: remove it, or name another"
        )
    if not header.startswith(SQLITE):
        raise StoreError(f"{path} is not an SQLite database; left untouched")
    if len(header) < 100:
        raise StoreError(f"{path} is cut short: the store is damaged; left untouched")
    if _number(header, 68) != APPLICATION_ID:
        raise StoreError(f"{path} is another program's database{_holding(path)}; left untouched")
    check_version(_number(header, 60), str(path))
    _check_pages(path, header)


class Held(sqlite3.Connection):
    """A connection that this process is known to have, until it is closed."""

    file: tuple[int, int] | None = None

    def hold(self, path: Path) -> None:
        file = files.identity(path)
        files.hold_database(file)
        self.file = file

    def close(self) -> None:
        with files.database_lock:
            super().close()
            if self.file is not None:
                files.hold_database(self.file, -1)
                self.file = None

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # one that was never opened
            self.close()


def connect(path: Path, mode: str, timeout: float = 0.0) -> sqlite3.Connection:
    """`mode` as in SQLite's URIs. Transactions are begun by us (`isolation_level=None`)."""
    with files.database_lock:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
            factory=Held,
        )
        try:
            connection.hold(path)
        except OSError:
            connection.close()
            raise sqlite3.OperationalError("unable to open database file") from None
    # What the file itself says is data: no functions in its schema, no value without bounds.
    connection.execute("PRAGMA trusted_schema = OFF")
    # Checking a file would compute the conditions in its schema, which may take for ever.
    connection.execute("PRAGMA ignore_check_constraints = ON")
    # A signal is noticed by Python only: so that Ctrl-C ends a query.
    connection.set_progress_handler(lambda: 0, STEPS)
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    return connection


def check_objects(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a schema that computes: a view in the place of a table can run for ever, a trigger or
    a generated column can do anything. Stores of ours have tables and indexes."""
    tables = []
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        virtual = str(sql).upper().lstrip().startswith("CREATE VIRTUAL")
        if kind not in ("table", "index") or virtual:
            what = "virtual table" if virtual else kind
            raise StoreError(f"{path} has a {what} {name!r}, which no store has; left untouched")
        if kind == "table":
            tables.append(name)
        elif computes(connection, name):
            raise StoreError(f"{path} has an index {name!r} that computes; left untouched")
    for table in tables:
        columns = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,))
        for name, hidden in columns:
            if hidden:
                raise StoreError(
                    f"{path} computes the column {name!r} of {table!r}, which no store does; "
                    "left untouched"
                )


def computes(connection: sqlite3.Connection, index: str) -> bool:
    """Whether an index is of an expression, or of the rows that fulfil a condition."""
    columns = connection.execute("SELECT cid FROM pragma_index_xinfo(?)", (index,)).fetchall()
    if any(number == -2 for (number,) in columns):
        return True
    lists = "SELECT l.partial FROM sqlite_master m, pragma_index_list(m.tbl_name) l "
    found = connection.execute(f"{lists} WHERE m.name = ? AND l.name = m.name", (index,))
    return any(partial for (partial,) in found)


def has_log(path: Path) -> bool:
    """Whether a write-ahead log lies beside the file: someone has it open, or was killed."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def schema_of(path: Path) -> int:
    """The schema that the file's header names; raises where `inspect` would, but for its age."""
    try:
        inspect(path)
    except OlderSchema as error:
        return error.found
    return SCHEMA_VERSION


def write_header(connection: Connection) -> None:
    """Write into the header what `inspect` looks for."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4], "big")


def _holding(path: Path) -> str:
    try:
        with closing(connect(path, "immutable=1")) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            tables = sorted(name for (name,) in rows)
    except FAULTS:
        return ""
    return f" (its tables: {first_of(tables)})" if tables else " (without tables)"


def _check_pages(path: Path, header: bytes) -> None:
    """Look for damage, unless a log is there: then the file alone need not make sense."""
    before = path.stat()
    if has_log(path):
        return
    size = int.from_bytes(header[16:18], "big")
    page_bytes = 65536 if size == 1 else size
    if before.st_size < _number(header, 28) * page_bytes:
        damage = "the file is cut short"
    elif before.st_size <= QUICK_CHECK_BYTES:
        damage = _quick_check(path)
    else:
        return
    # A writer that came in between changes pages under an immutable reader: no verdict then.
    if damage and not has_log(path) and path.stat().st_mtime_ns == before.st_mtime_ns:
        raise StoreError(f"{path} is damaged ({damage}); left untouched")


def _quick_check(path: Path) -> str:
    """What is wrong, or nothing."""
    try:
        with closing(connect(path, "immutable=1")) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except FAULTS as error:
        return str(error)
    return "" if verdict == "ok" else " ".join(verdict.split())


def create(path: Path, build: Callable[[Path], None]) -> None:
    """Make a new store at `path`; `build` fills a new file with the schema.

    Creates the folder of the file, but not the folder above it: a mistyped path must not leave a
    tree of folders behind.
    """
    folder = path.parent
    made_folder = False
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        if not folder.exists():
            try:
                folder.mkdir()
                made_folder = True
            except FileExistsError:
                pass  # another process was quicker
        drafts = [draft.with_name(draft.name + end) for end in ("", "-wal", "-shm", "-journal")]
        for each in drafts:
            children.remove_at_end(each)
        try:
            draft.touch(exist_ok=False)
            build(draft)
            _put_in_place(draft, path)
        finally:
            for each in drafts:
                each.unlink(missing_ok=True)
    except (OSError, StoreError) as error:
        if made_folder:
            try:
                folder.rmdir()
            except OSError:
                pass  # not empty any more: someone else uses it
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"cannot create the store {path}: {error.strerror}; name another place with --store"
        ) from None


def _put_in_place(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process created the store meanwhile: use that one
    except OSError:
        # No hard links on this file system.
        if not path.exists():
            draft.rename(path)
