"""Stored results as a pandas DataFrame: `ob.load()`.

One row per result, or one per raw sample; the columns are those of the CSV export, with Python's
own types (`created` is a UTC timestamp, a label keeps its type).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.report import rows
from opbench.result import Sample
from opbench.store.records import RunRecord, StoredResult

if TYPE_CHECKING:
    import pandas

    from opbench.store import Store

SAMPLE_COLUMNS = tuple(field.name for field in fields(Sample))


def load(
    store: str | Path | Store | None = None,
    run: str | Iterable[str] | None = None,
    metric: str | None = None,
    samples: bool = False,
) -> pandas.DataFrame:
    """Results of a store as a DataFrame, oldest first.

    `run` is what the command line takes (`last`, `last~1`, an id, a name), or several of them; all
    runs without it. With `samples`, each row is one raw sample (`value` per call, and the columns
    `start`, `session`, `order`, … of its block), next to the columns of its result.
    """
    from opbench.store import Store

    if isinstance(store, Store):
        return _load(store, run, metric, samples)
    with Store.open(store, create=False) as opened:
        return _load(opened, run, metric, samples)


def _load(
    store: Store, run: str | Iterable[str] | None, metric: str | None, samples: bool
) -> pandas.DataFrame:
    if run is None:
        return frame(store.results(metric=metric, samples=samples), store.runs(), samples)
    refs = [run] if isinstance(run, str) else list(run)
    runs = list({record.id: record for record in map(store.find_run, refs)}.values())
    results = [
        stored
        for record in runs
        for stored in store.results(run=record, metric=metric, samples=samples)
    ]
    return frame(results, runs, samples)


def frame(
    results: list[StoredResult], runs: Iterable[RunRecord] = (), samples: bool = False
) -> pandas.DataFrame:
    import pandas

    columns = rows.columns(results)
    flat = rows.rows(results, runs)
    records: Iterable[dict[str, Any]] = flat
    if samples:
        columns += SAMPLE_COLUMNS
        records = (
            {**row, **{name: getattr(sample, name) for name in SAMPLE_COLUMNS}}
            for row, stored in zip(flat, results)
            for sample in stored.result.samples
        )
    table = pandas.DataFrame.from_records(list(records), columns=columns)
    table["created"] = pandas.to_datetime(table["created"], unit="s", utc=True)
    for name in ("estimate", "low", "high", "half_width"):
        # A column of None alone would be of type object, and its mean an error.
        table[name] = table[name].astype(float)
    return table
