"""Stored results made up of numbers, as a run would have left them."""

from __future__ import annotations

import random
from typing import Any

from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoredResult

NOON = 1_794_744_000.0  # 2026-11-15 12:00 UTC
DAY = 86_400.0


def case(name: str = "add", stage: str = "forward", stmt: str = "f(x)", **labels: Any) -> Case:
    return Case("ops", name, stage, stmt, labels=tuple(labels.items()))


def blocks(
    value: float, *, starts: int = 6, children: int = 2, count: int = 5, noise: float = 0.002
) -> tuple[Sample, ...]:
    """Blocks around a value, with a little scatter that is the same on every machine."""
    rng = random.Random(f"{value} {starts} {children}")
    return tuple(
        Sample(value * (1 + noise * rng.uniform(-1, 1)), start=start, session=child, order=index)
        for start in range(starts)
        for child in range(children)
        for index in range(count)
    )


def timed(
    of: Case | str,
    value: float,
    *,
    run: str = "r1",
    design: str = "",
    group: str = "",
    samples: tuple[Sample, ...] | None = None,
    **more: Any,
) -> StoredResult:
    """A result of `time`; with a design, one whose blocks were interleaved with its group's."""
    of = case(of) if isinstance(of, str) else of
    taken = blocks(value) if samples is None else samples
    group = group or (of.id if design else "")
    fields = {"estimate": value, "low": value * 0.99, "high": value * 1.01, **more}
    detail = {"design": design} if design else {}
    result = Result(of.hash, "time", "s", samples=taken, group=group, detail=detail, **fields)
    return StoredResult(run, of, result, len(taken))


def counted(
    of: Case | str, value: float, metric: str = "memory", *, run: str = "r1", **more: Any
) -> StoredResult:
    """A result of a metric that repeats."""
    of = case(of) if isinstance(of, str) else of
    unit = {"memory": "bytes"}.get(metric, metric)
    fields = {"estimate": value, "low": value, "high": value, **more}
    return StoredResult(run, of, Result(of.hash, metric, unit, **fields), 1)


def machine(id: str = "a1b2c3d4") -> dict[str, Any]:
    return {"system": {"machine_id": id}, "cpu": {"model": "EPYC 9654", "logical_cores": 8}}


def add_run(
    store: Store,
    number: int,
    name: str,
    *results: StoredResult,
    commit: str = "",
    on: str = "",
    request: dict[str, Any] | None = None,
) -> str:
    """One run a day, numbered from 0; the results' own run ids are replaced."""
    run_id = f"{20261115 + number:08d}-120000-{number:04x}"
    facts = machine(on) if on else machine()
    record = RunRecord(
        run_id,
        name,
        created=NOON + number * DAY,
        commit=commit,
        machine=facts,
        request=request or {},
    )
    store.begin_run(record)
    for stored in results:
        store.add_result(run_id, stored.case, stored.result)
    store.finish_run(run_id)
    return run_id
