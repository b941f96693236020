"""Our own JSON (`opbench export -f json`): runs come back as they were, under their ids.

With their cases, samples and warnings; a store has more (the facts of environments), and goes
whole with `opbench store copy`. The source of a case is text here too, and nothing executes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from opbench.case import STAGES, Case
from opbench.imports.imported import (
    LATEST,
    Imported,
    Unreadable,
    dictionary,
    listed,
    number,
    within_time,
)
from opbench.result import OUTCOMES, Result, Sample, Warning
from opbench.store import RunRecord
from opbench.store.records import RUN_STATUSES

TOOL = "opbench"
FAMILY, VERSION = "opbench-results/", "1"
#: JSON has no word for these numbers.
SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
RUN_ID = re.compile(r"[\w.:~-]{1,100}")
TEXTS = ("metric", "unit", "outcome", "reason", "environment", "fingerprint", "policy", "group")


def reads(data: Any) -> bool:
    return isinstance(data, dict) and str(data.get("schema")).startswith(FAMILY)


def read(data: dict[str, Any], path: Path) -> list[Imported]:
    version = data["schema"].removeprefix(FAMILY)
    if version != VERSION:
        raise Unreadable(f"format {version} is of a later opbench; this one reads {VERSION}")
    cases = {
        key: _case(dictionary(value, f"case {key}"), key)
        for key, value in dictionary(data.get("cases"), "cases").items()
    }
    runs = [_run(dictionary(each, "a run")) for each in listed(data.get("runs"), "runs")]
    pairs: dict[str, list[tuple[Case, Result]]] = {run.id: [] for run in runs}
    for position, entry in enumerate(listed(data.get("results"), "results"), 1):
        what = f"result {position}"
        entry = dictionary(entry, what)
        run, key = _text(entry, "run"), _text(entry, "case")
        if key not in cases or run not in pairs:
            raise Unreadable(f"{what} is of a case or a run that the file does not hold")
        pairs[run].append((cases[key], _result(entry, cases[key], what)))
    return [
        Imported(
            TOOL,
            run.created,
            run.commit,
            machine=run.machine,
            environment={},
            pairs=pairs[run.id],
            record=run,
        )
        for run in sorted(runs, key=lambda each: each.created)
        if pairs[run.id] or len(runs) == 1
    ]


def _case(data: dict[str, Any], key: str) -> Case:
    try:
        case = Case.from_dict(data)
        plain = len(case.hash) and all(
            isinstance(axis, str) and isinstance(value, (str, int, float, bool, type(None)))
            for axis, value in case.labels
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        plain = False
    if not plain or type(case.threads) is not int or type(case.seed) is not int:
        raise Unreadable(f"case {key} is not a case")
    if case.stage not in STAGES:
        raise Unreadable(f"case {key} has the stage {case.stage!r}, not one of {', '.join(STAGES)}")
    return case


def _run(data: dict[str, Any]) -> RunRecord:
    texts: dict[str, Any] = {
        name: _text(data, name) for name in ("id", "name", "command", "version", "commit")
    }
    if not RUN_ID.fullmatch(texts["id"]):
        raise Unreadable(f"{texts['id']!r} is not the id of a run")
    status = _text(data, "status")
    if status not in RUN_STATUSES:
        raise Unreadable(f"run {texts['id']} has the status {status!r}")
    objects: dict[str, Any] = {
        name: dictionary(data.get(name), name) for name in ("machine", "policy", "request")
    }
    return RunRecord(
        **texts,
        # Nothing writes to it here, so it will not end either.
        status="interrupted" if status == "running" else status,
        created=_moment(data.get("created"), f"created of run {texts['id']}"),
        finished=within_time(data.get("finished")) or None,
        **objects,
    )


def _result(data: dict[str, Any], case: Case, what: str) -> Result:
    texts: dict[str, Any] = {name: _text(data, name) for name in TEXTS}
    ends: dict[str, Any] = {
        name: _number(data.get(name), f"{name} of {what}") for name in ("estimate", "low", "high")
    }
    if texts["outcome"] not in OUTCOMES:
        raise Unreadable(f"{what} has the outcome {texts['outcome']!r}")
    warnings = [dictionary(each, "a warning") for each in listed(data.get("warnings"), "warnings")]
    return Result(
        case_hash=case.hash,
        **texts,
        **ends,
        samples=_samples(dictionary(data.get("samples"), f"samples of {what}"), what),
        warnings=tuple(Warning(_text(each, "code"), _text(each, "text")) for each in warnings),
        detail=dictionary(data.get("detail"), f"detail of {what}"),
        created=_moment(data.get("created"), f"created of {what}"),
        node=_text({"node": "", **data}, "node"),
    )


def _samples(columns: Mapping[str, Any], what: str) -> tuple[Sample, ...]:
    """Columns of equal length; one that is absent holds its default."""
    count = len(listed(columns.get("value", []), f"samples of {what}"))
    rows = []
    for each in fields(Sample):
        column = columns.get(each.name)
        if column is None:
            default = 0.0 if each.default is MISSING else each.default
            rows.append([default] * count)
            continue
        if len(listed(column, f"{each.name} of {what}")) != count:
            raise Unreadable(f"the samples of {what} have columns of different lengths")
        kind = float if each.name == "value" else type(each.default)
        rows.append([_sample(value, kind, f"{each.name} of {what}") for value in column])
    return tuple(Sample(*row) for row in zip(*rows))


def _sample(value: Any, kind: type, what: str) -> Any:
    if kind is float:
        return _number(value, what) or 0.0
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Unreadable(f"{what} holds {value!r}, not {kind.__name__}")
    return value


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    return SPELLED[value] if isinstance(value, str) and value in SPELLED else number(value, what)


def _moment(value: Any, what: str) -> float:
    found = number(value, what)
    if not 0 <= found < LATEST:
        raise Unreadable(f"{what} is {found}, not a moment")
    return found


def _text(data: Mapping[str, Any], name: str) -> str:
    if not isinstance(data.get(name), str):
        raise Unreadable(f"{name} is {type(data.get(name)).__name__}, not text")
    return str(data[name])
