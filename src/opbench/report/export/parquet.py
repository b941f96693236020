"""Parquet: the columns of the CSV with their types, and the raw samples as lists.

Needs `pip install 'opbench[parquet]'`. `pandas.read_parquet`, DuckDB, Polars and Arrow read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from opbench.case import label_text
from opbench.errors import UserError
from opbench.report import rows
from opbench.store.records import RunRecord, StoredResult

NEEDS_SAMPLES = True
BINARY = True

FLOATS = ("estimate", "low", "high", "half_width")
INTEGERS = ("threads", "n_samples")


def write(results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: IO[bytes]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise UserError("Parquet needs pyarrow: pip install 'opbench[parquet]'") from None
    flat = list(rows.rows(results, runs))
    columns: dict[str, Any] = {}
    for name in rows.columns(results):
        values = [row.get(name) for row in flat]
        columns[name] = _column(pyarrow, name, values)
    for name, kind, read in (
        ("samples", pyarrow.float64(), lambda sample: sample.value),
        ("starts", pyarrow.int32(), lambda sample: sample.start),
        ("sessions", pyarrow.int32(), lambda sample: sample.session),
        ("disturbed", pyarrow.bool_(), lambda sample: sample.contended),
    ):
        lists = [[read(sample) for sample in stored.result.samples] for stored in results]
        columns[name] = pyarrow.array(lists, pyarrow.list_(kind))
    parquet.write_table(pyarrow.table(columns), stream, compression="zstd")


def _column(pyarrow: Any, name: str, values: list[Any]) -> Any:
    if name == "created":
        return pyarrow.array(
            [round(value * 1e6) if value else None for value in values],
            pyarrow.timestamp("us", tz="UTC"),
        )
    if name in FLOATS:
        return pyarrow.array(values, pyarrow.float64())
    if name in INTEGERS:
        return pyarrow.array(values, pyarrow.int64())
    if name.startswith("label."):
        return _label(pyarrow, values)
    return pyarrow.array(values, pyarrow.string())


def _label(pyarrow: Any, values: list[Any]) -> Any:
    """The type that all values of the axis share; text where they differ (16, "auto")."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds and kinds <= {int}:
        return pyarrow.array(values, pyarrow.int64())
    if kinds and kinds <= {int, float}:
        return pyarrow.array([None if v is None else float(v) for v in values], pyarrow.float64())
    texts = [None if value is None else label_text(value) for value in values]
    return pyarrow.array(texts, pyarrow.string())
