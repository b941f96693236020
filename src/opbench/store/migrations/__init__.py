"""How a store of an older schema becomes one of this schema, step by step, with Alembic.

One revision per schema: revision `2` makes schema 2 out of schema 1. A new store is made whole from
`tables.py` and stamped; a test holds that both ways lead to the same tables.
"""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, update

from opbench.store.tables import SCHEMA_VERSION, meta, revision

FOLDER = Path(__file__).parent


def migrate(connection: Connection, found: int) -> None:
    """Bring schema `found` to this one, in the caller's transaction: all of it or nothing."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    script = ScriptDirectory.from_config(config)

    def steps(_heads: object, _context: object) -> list:
        # Our own table says where the store is: stores older than Alembic have no other.
        return script._upgrade_revs(str(SCHEMA_VERSION), str(found))

    with EnvironmentContext(config, script, fn=steps, as_sql=False) as environment:
        environment.configure(connection=connection, version_table=revision.name)
        environment.run_migrations()
    connection.execute(
        update(meta).where(meta.c.key == "schema_version").values(value=str(SCHEMA_VERSION))
    )
