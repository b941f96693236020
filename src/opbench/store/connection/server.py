"""A PostgreSQL server: connecting to it, what may be done there, and its refusals in one line.

Passwords and TLS are libpq's affair: PGPASSWORD, ~/.pgpass, PGSSLMODE, a service file. What is in
the URL works too, and is masked wherever the URL is shown.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DisconnectionError

from opbench.store.connection.address import Address
from opbench.store.errors import StoreError

#: A wrong address should be reported within seconds.
CONNECT_SECONDS = 10

#: Seconds, the last in milliseconds: a server that vanished without a word is noticed in half a
#: minute, where the kernel alone would wait for a quarter of an hour.
ALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

#: A connection that was used this recently is taken for alive. Asking costs a round trip per
#: transaction, as much as the transaction itself; servers and firewalls cut what is idle for long.
FRESH_SECONDS = 30.0

#: What a run needs; a reader needs the first only.
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")
WRITTEN = ("runs", "cases", "environments", "results", "samples", "start_variances")


def server_engine(address: Address) -> Engine:
    arguments: dict[str, Any] = {"application_name": "opbench"}
    if "connect_timeout" not in address.url.query:
        arguments["connect_timeout"] = CONNECT_SECONDS
    for name, value in ALIVE.items():
        if name not in address.url.query:
            arguments[name] = value
    try:
        engine = create_engine(address.url, connect_args=arguments)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL stores need the package {error.name}: pip install 'opbench[postgres]'"
        ) from None
    except ImportError as error:
        first = str(error).splitlines()[0]
        raise StoreError(
            f"the installed psycopg cannot be loaded ({first}): pip install 'opbench[postgres]'"
        ) from None

    @event.listens_for(engine, "checkin")
    def used(_connection: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def still_there(connection: Any, record: Any, _proxy: Any) -> None:
        last = record.info.get("used")
        if last is None or time.monotonic() - last < FRESH_SECONDS:
            return
        try:
            connection.execute("SELECT 1")
            connection.rollback()
        except Exception:
            raise DisconnectionError from None  # the pool then opens another one

    return engine


def check_privileges(connection: Connection, place: str, writes: bool) -> None:
    """Raise where something that will be done later is not allowed now."""
    # Not `transaction_read_only`: this very transaction is one that only reads.
    closed = (
        "SELECT pg_is_in_recovery() "
        "OR CAST(current_setting('default_transaction_read_only') AS bool)"
    )
    if writes and connection.scalar(text(closed)):
        raise StoreError(f"{place} is read-only: no results could be written to it")
    needed = PRIVILEGES if writes else PRIVILEGES[:1]
    query = text(
        "SELECT t, p FROM unnest(CAST(:tables AS text[])) AS t, unnest(CAST(:needed AS text[])) "
        "AS p WHERE NOT has_table_privilege(t, p)"
    )
    rows = connection.execute(query, {"tables": list(WRITTEN), "needed": list(needed)}).all()
    user = connection.scalar(text("SELECT current_user"))
    if rows:
        table, privilege = rows[0]
        raise StoreError(
            f"{place}: user {user} may not {privilege} in {table}; let its owner GRANT "
            f"{', '.join(needed)} ON {', '.join(WRITTEN)} TO {user}"
        )
    if writes:
        sequence = "pg_get_serial_sequence('results', 'id')"
        if not connection.scalar(text(f"SELECT has_sequence_privilege({sequence}, 'USAGE')")):
            raise StoreError(
                f"{place}: user {user} may not number results; let its owner GRANT USAGE ON "
                f"SEQUENCE results_id_seq TO {user}"
            )


def refusal(said: str, place: str) -> str | None:
    """What a server's refusal means, in one line; None for what is not one."""
    lower = said.lower()
    if "password authentication failed" in lower or "no password supplied" in lower:
        return (
            f"{place}: the server did not accept the password; set PGPASSWORD, or write a line "
            "into ~/.pgpass"
        )
    if "no pg_hba.conf entry" in lower or "authentication failed" in lower:
        return f"{place}: the server does not let this user in from here ({_end(said)})"
    if "does not exist" in lower and ("database" in lower or "role" in lower):
        return f"{place}: {_end(said)}; createdb and createuser make one, or correct the URL"
    if "permission denied" in lower or "must be owner" in lower:
        return f"{place}: {_end(said)}; ask the owner of the database to GRANT it"
    if "connection refused" in lower or "timeout expired" in lower or "no route" in lower:
        return f"{place}: no PostgreSQL server answers there ({_end(said)})"
    if "resolve" in lower or "name or service not known" in lower or "translate host" in lower:
        return f"{place}: there is no host of that name"
    if "ssl" in lower or "certificate" in lower:
        return f"{place}: no secure connection ({_end(said)}); see PGSSLMODE and PGSSLROOTCERT"
    if "connection to server" in lower or "connection failed" in lower:
        return f"{place}: cannot connect ({_end(said)})"
    return None


def _end(said: str) -> str:
    """The telling part of libpq's message, which repeats the address first."""
    return said.replace("FATAL:", "").replace("ERROR:", "").rpartition("failed:")[2].strip()
