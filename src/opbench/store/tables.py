"""The schema, once, for SQLite and PostgreSQL.

A result row is light (estimate, interval, outcome), so that listing, comparing and drawing a
history never touch the raw samples; those wait in a table of their own, one compressed block per
result. What a case says is stored once per hash, not once per result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from opbench.store import quick_json

APPLICATION = "opbench"
SCHEMA_VERSION = 3


class PlainText(TypeDecorator[str]):
    """Text that every database accepts.

    Messages of crashed programs may hold NUL (refused by PostgreSQL) or undecodable bytes (refused
    by both); they are kept readable as backslash escapes rather than lost with their result.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else plain_text(value)


def plain_text(value: str) -> str:
    text = str(value).replace("\0", "\\x00")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class JsonText(TypeDecorator[Any]):
    """JSON in a text column: the databases' own JSON types differ, and refuse NaN and NUL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, separators=(",", ":"), default=_plain)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else quick_json.loads(value)


class Real(TypeDecorator[float]):
    """A double that may be NaN. SQLite turns a bound NaN into NULL, so there it is written as text
    (which a REAL column keeps, and sorts after every number, as PostgreSQL sorts NaN)."""

    impl = Double
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        if dialect.name != "sqlite":
            return super().bind_processor(dialect)
        # The whole processor, because SQLAlchemy's own would make a float of "NaN" again.
        return _real_for_sqlite

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        return None if value is None else float(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:
        return None if value is None else float(value)


def _real_for_sqlite(value: float | None) -> float | str | None:
    if value is None:
        return None
    number = float(value)
    return "NaN" if math.isnan(number) else number


def _plain(value: Any) -> Any:
    """Numbers of numpy and the like become plain ones; what is left becomes its text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)


metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", PlainText, primary_key=True),
    Column("value", PlainText, nullable=False),
)

#: Where Alembic keeps its revision, which is the schema's number. Under a name of our own: the
#: database of a team may hold the tables of other programs, with an `alembic_version` of theirs.
revision = Table(
    "opbench_revision",
    metadata,
    Column("version_num", String(32), primary_key=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", PlainText, primary_key=True),
    Column("name", PlainText, nullable=False, index=True),
    Column("created", Real, nullable=False, index=True),
    Column("finished", Real),
    Column("status", PlainText, nullable=False),
    Column("command", PlainText, nullable=False),
    Column("version", PlainText, nullable=False),
    Column("project_commit", PlainText, nullable=False, index=True),
    Column("machine", JsonText, nullable=False),
    Column("policy", JsonText, nullable=False),
    Column("request", JsonText, nullable=False),
)

cases = Table(
    "cases",
    metadata,
    Column("hash", PlainText, primary_key=True),
    Column("id", PlainText, nullable=False, index=True),
    Column("suite", PlainText, nullable=False),
    Column("name", PlainText, nullable=False),
    Column("stage", PlainText, nullable=False),
    Column("language", PlainText, nullable=False),
    Column("framework", PlainText, nullable=False),
    Column("runtime", PlainText, nullable=False),
    Column("device", PlainText, nullable=False),
    Column("dtype", PlainText, nullable=False),
    Column("threads", Integer, nullable=False),
    Column("labels", JsonText, nullable=False),
    # The whole of `Case.to_dict()`: shown to people, never executed.
    Column("source", JsonText, nullable=False),
    Column("first_seen", Real, nullable=False),
)

environments = Table(
    "environments",
    metadata,
    Column("fingerprint", PlainText, primary_key=True),
    Column("facts", JsonText, nullable=False),
)

results = Table(
    "results",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("run_id", PlainText, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("case_hash", PlainText, ForeignKey("cases.hash"), nullable=False),
    Column("metric", PlainText, nullable=False),
    Column("unit", PlainText, nullable=False),
    Column("outcome", PlainText, nullable=False),
    Column("reason", PlainText, nullable=False),
    Column("estimate", Real),
    Column("low", Real),
    Column("high", Real),
    Column("n_samples", Integer, nullable=False),
    Column("warnings", JsonText, nullable=False),
    Column("detail", JsonText, nullable=False),
    Column("environment", PlainText, nullable=False),
    # No foreign key: a result is safe even when the facts of its environment never arrived.
    Column("fingerprint", PlainText, nullable=False),
    # The third part of `Result.key()`: environment, fingerprint, and of a fleet the node.
    Column("place", PlainText, nullable=False),
    Column("policy", PlainText, nullable=False),
    Column("group_name", PlainText, nullable=False),
    Column("created", Real, nullable=False),
    # The node of a fleet that measured it; nothing for a run on one machine.
    Column("node", PlainText, nullable=False, server_default=""),
    # Also the index that finds all results of one run.
    UniqueConstraint("run_id", "case_hash", "metric", "place", "policy", name="uq_results_key"),
    # The history of one case over all runs: `cases.id` leads to its hashes, this to their results.
    Index("ix_results_case_metric", "case_hash", "metric"),
    Index("ix_results_metric", "metric"),
)

samples = Table(
    "samples",
    metadata,
    Column(
        "result_id",
        BigInteger().with_variant(Integer, "sqlite"),
        ForeignKey("results.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("payload", LargeBinary, nullable=False),
)

#: How much worker starts scattered in a run: sums over its cases (`stats.prior.VarianceFit`), from
#: which the next run on the same machine begins.
start_variances = Table(
    "start_variances",
    metadata,
    Column("run_id", PlainText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    # Not only in the facts of the run: a run may be continued elsewhere.
    Column("machine", PlainText, primary_key=True, index=True),
    Column("metric", PlainText, primary_key=True),
    # Of pairs; nothing for the starts of single cases.
    Column("design", PlainText, primary_key=True),
    Column("cases", Integer, nullable=False),
    Column("freedom", Real, nullable=False),
    Column("logs", Real, nullable=False),
    Column("squares", Real, nullable=False),
    Column("expected", Real, nullable=False),
)
