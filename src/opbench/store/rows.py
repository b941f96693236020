"""Between the records people use and the rows a database keeps."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Row, RowMapping

from opbench.case import Case
from opbench.result import Result, Sample, Warning
from opbench.store.records import RunRecord

#: The first second of the year 10000, which no calendar of ours knows.
END_OF_TIME = 253402300800.0
#: Columns of a result that must be text: SQLite would keep anything in them.
TEXTS = (
    "case_hash", "metric", "unit", "outcome", "reason", "environment", "fingerprint", "policy",
    "group_name", "node",
)  # fmt: skip


def run_row(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "created": run.created or time.time(),
        "finished": run.finished,
        "status": run.status,
        "command": run.command,
        "version": run.version,
        "project_commit": run.commit,
        "machine": run.machine,
        "policy": run.policy,
        "request": run.request,
    }


def run_from_row(row: Row[Any]) -> RunRecord:
    """Of a whole row of `runs`, whose columns stand in the order of the record's fields: a history
    reads thousands of them."""
    run = RunRecord(*row)
    texts = (run.id, run.name, run.status, run.command, run.version, run.commit)
    objects = (run.machine, run.policy, run.request)
    if {*map(type, texts)} != {str} or {*map(type, objects)} != {dict}:
        raise ValueError(f"run {run.id!r} has a field of the wrong type")
    if not isinstance(run.request.get("targets") or [], list):
        raise ValueError(f"run {run.id!r} has a request of the wrong type")
    for moment in (run.created, run.finished or 0.0):
        if not 0 <= moment < END_OF_TIME:
            raise ValueError(f"run {run.id!r} is dated {moment!r}")
    return run


def case_row(case: Case) -> dict[str, Any]:
    return {
        "hash": case.hash,
        "id": case.id,
        "suite": case.suite,
        "name": case.name,
        "stage": case.stage,
        "language": case.language,
        "framework": case.framework,
        "runtime": case.runtime,
        "device": case.device,
        "dtype": case.dtype,
        "threads": case.threads,
        "labels": [list(pair) for pair in case.labels],
        "source": case.to_dict(),
        "first_seen": time.time(),
    }


def result_row(run_id: str, result: Result) -> dict[str, Any]:
    _, _, place, _ = result.key()
    return {
        "run_id": run_id,
        "case_hash": result.case_hash,
        "metric": result.metric,
        "unit": result.unit,
        "outcome": result.outcome,
        "reason": result.reason,
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "n_samples": len(result.samples),
        "warnings": [[warning.code, warning.text] for warning in result.warnings],
        "detail": result.detail,
        "environment": result.environment,
        "fingerprint": result.fingerprint,
        "place": place,
        "policy": result.policy,
        "group_name": result.group,
        "created": result.created,
        "node": result.node,
    }


def result_from_row(row: RowMapping, samples: tuple[Sample, ...] = ()) -> Result:
    # Each column is looked up once: that takes longer than looking at what it holds.
    texts, detail = [row[name] for name in TEXTS], row["detail"]
    if {*map(type, texts)} != {str} or type(detail) is not dict:
        raise ValueError(f"result {row['id']} has a field of the wrong type")
    case_hash, metric, unit, outcome, reason, environment, fingerprint, policy, group, node = texts
    return Result(
        case_hash=case_hash,
        metric=metric,
        unit=unit,
        outcome=outcome,
        reason=reason,
        estimate=row["estimate"],
        low=row["low"],
        high=row["high"],
        samples=samples,
        warnings=tuple(Warning(code, text) for code, text in row["warnings"]),
        detail=detail,
        environment=environment,
        fingerprint=fingerprint,
        policy=policy,
        group=group,
        created=row["created"],
        node=node,
    )
