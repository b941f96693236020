"""JSON: everything that was stored, raw samples included, in a documented schema.

    {"schema": "opbench-results/1",
     "runs":    [{"id", "name", "created", "finished", "status", "command", "version", "commit",
                  "machine", "policy", "request"}],
     "cases":   {"<hash>": {"id", … every field of a case, its source included}},
     "results": [{"run", "case" (its hash), "metric", "unit", "outcome", "reason", "estimate",
                  "low", "high", "n_samples", "warnings": [{"code", "text"}], "detail",
                  "environment", "fingerprint", "node", "policy", "group", "created",
                  "samples": {"value": […], "start": […], …}}]}

Samples are columns of equal length; a column that is absent holds the default of `Sample`
throughout (0; 1 for `n`; false for `contended`). Times are seconds, sizes bytes, moments seconds
since the epoch. JSON has no NaN and no infinity: they are the strings "NaN", "Infinity" and
"-Infinity". A later version may add keys; the number after the slash changes when a key changes
its meaning. `opbench export --schema` prints the same as a JSON Schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any, TextIO

from opbench.store.payload import sample_columns
from opbench.store.records import RunRecord, StoredResult

SCHEMA = "opbench-results/1"
NEEDS_SAMPLES = True

#: Fields of a result that are written as they are.
VALUE = ("metric", "unit", "outcome", "reason", "estimate", "low", "high")
CIRCUMSTANCES = ("detail", "environment", "fingerprint", "node", "policy", "group", "created")


def schema_text() -> str:
    """The JSON Schema of what `write` writes."""
    name = f"{SCHEMA.replace('/', '-')}.schema.json"
    return resources.files("opbench.data").joinpath(name).read_text("utf-8")


def write(results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO) -> None:
    """One line per run, case and result, so that a large file can be read, searched and compared
    line by line."""
    stream.write(f'{{"schema": {_json(SCHEMA)},\n"runs": [')
    _lines(stream, (_json(asdict(run)) for run in runs))
    stream.write('],\n"cases": {')
    cases = {stored.result.case_hash: stored.case for stored in results}
    _lines(
        stream,
        (
            f"{_json(key)}: {_json({'id': case.id, **case.to_dict()})}"
            for key, case in cases.items()
        ),
    )
    stream.write('},\n"results": [')
    _lines(stream, (_json(result_record(stored)) for stored in results))
    stream.write("]}\n")


def result_record(stored: StoredResult) -> dict[str, Any]:
    result = stored.result
    return {
        "run": stored.run_id,
        "case": result.case_hash,
        **{name: getattr(result, name) for name in VALUE},
        "n_samples": stored.n_samples or len(result.samples),
        "warnings": [asdict(warning) for warning in result.warnings],
        **{name: getattr(result, name) for name in CIRCUMSTANCES},
        "samples": sample_columns(result.samples),
    }


def _lines(stream: TextIO, entries: Any) -> None:
    glue = "\n"
    for entry in entries:
        stream.write(glue + entry)
        glue = ",\n"
    stream.write("\n")


def _json(value: Any) -> str:
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    # A lone surrogate cannot be written as UTF-8; its backslash form is also its escape in JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
