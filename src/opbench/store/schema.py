"""Which schema a database holds, and what to do about one that is not this opbench's."""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select

from opbench.store.errors import StoreError
from opbench.store.tables import APPLICATION, SCHEMA_VERSION, meta, metadata, revision


class OlderSchema(StoreError):
    """A store of ours from an earlier time; `migrate` brings it up to date."""

    def __init__(self, message: str, found: int) -> None:
        super().__init__(message)
        self.found = found


def check_version(found: int, place: str, shown: str = "") -> None:
    """Raise unless it is this one. `shown` is how a command line names the store."""
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"{place} was written by a newer opbench (schema {found}; this one knows "
            f"{SCHEMA_VERSION}): upgrade opbench, or name another store"
        )
    if found < SCHEMA_VERSION:
        raise OlderSchema(
            f"{place} was written by an older opbench (schema {found}; this one writes "
            f"{SCHEMA_VERSION}): bring it up to date with `opbench store upgrade {shown or place}`",
            found,
        )


def build(connection: Connection) -> None:
    """Everything a new store needs, in the caller's transaction."""
    metadata.create_all(connection)
    connection.execute(
        insert(meta),
        [
            {"key": "application", "value": APPLICATION},
            {"key": "schema_version", "value": str(SCHEMA_VERSION)},
        ],
    )
    connection.execute(insert(revision), {"version_num": str(SCHEMA_VERSION)})


def found_version(connection: Connection, place: str) -> int | None:
    """The schema of the store in a database; None where there is no table of any of our names.

    Tables of those names that are not ours are refused, and left alone.
    """
    there = set(inspect(connection).get_table_names())
    clash = sorted(there & set(metadata.tables))
    if not clash:
        return None
    found: dict[str, str] = {}
    if "meta" in there and "runs" in there and _is_key_value(connection):
        found = {row.key: row.value for row in connection.execute(select(meta.c.key, meta.c.value))}
    if found.get("application") != APPLICATION:
        raise StoreError(
            f"{place} has tables of another program ({', '.join(clash)}); left untouched"
        )
    try:
        return int(found.get("schema_version", ""))
    except ValueError:
        raise StoreError(f"{place} does not say which schema it has: it is damaged") from None


def _is_key_value(connection: Connection) -> bool:
    columns = {column["name"] for column in inspect(connection).get_columns("meta")}
    return {"key", "value"} <= columns


def migrate(connection: Connection, found: int) -> None:
    """In the caller's transaction."""
    from opbench.store.migrations import migrate as run_steps

    run_steps(connection, found)
