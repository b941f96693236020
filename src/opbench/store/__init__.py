"""Where results are kept: one SQLite file by default, PostgreSQL by URL, the same schema in both.

Each result is committed when it is measured, so what is finished is safe from whatever happens
next. Nothing found in a store is unpickled or evaluated: source is shown, never run.

`Store` needs SQLAlchemy, which is imported the first time that name is used; the records and the
error type cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opbench.store.errors import StoreError
from opbench.store.records import RUN_STATUSES, RunRecord, StoredResult, new_run_id

if TYPE_CHECKING:
    from opbench.store.store import Store

__all__ = ["RUN_STATUSES", "RunRecord", "Store", "StoreError", "StoredResult", "new_run_id"]


def __getattr__(name: str) -> Any:
    if name == "Store":
        from opbench.store.store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
