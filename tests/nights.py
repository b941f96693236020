"""Stores filled with made-up nights: through `Store`, as a run would fill them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.result import Result
from opbench.store import RunRecord, Store

NOON = 1_794_744_000.0  # 2026-11-15 12:00 UTC
DAY = 86_400.0

CASE = Case("layers", "linear", "forward", "layer(x)", labels=(("batch", 16),))


def machine(id: str = "a1b2c3d4", model: str = "EPYC 9654", dirty: bool = False) -> dict[str, Any]:
    return {
        "system": {"machine_id": id},
        "cpu": {"model": model, "logical_cores": 8},
        "git": {"dirty": dirty},
    }


def interpreter(**packages: str) -> dict[str, Any]:
    return {"interpreter": {"version": "3.12.1", "packages": packages, "threads": {}}}


class Nights:
    """One run a night, numbered from 0."""

    def __init__(self, store: Store):
        self.store = store
        self.count = 0

    def add(
        self,
        estimate: float | None = 1e-5,
        *,
        case: Case = CASE,
        half: float = 0.02,
        name: str = "nightly",
        commit: str = "",
        version: str = "0.1.0",
        on: dict[str, Any] | None = None,
        fingerprint: str = "f1",
        environment: str = "current",
        **more: Any,
    ) -> str:
        day = datetime.fromtimestamp(NOON + self.count * DAY, tz=timezone.utc)
        run_id = f"{day:%Y%m%d-%H%M%S}-{self.count:04x}"
        self.store.begin_run(
            RunRecord(
                run_id,
                name=name,
                created=NOON + self.count * DAY,
                version=version,
                commit=commit or f"{self.count:x}" * 8,
                machine=machine() if on is None else on,
            )
        )
        self.add_to(run_id, estimate, case, half, fingerprint, environment, **more)
        self.count += 1
        return run_id

    def add_to(
        self,
        run_id: str,
        estimate: float | None,
        case: Case = CASE,
        half: float = 0.02,
        fingerprint: str = "f1",
        environment: str = "current",
        metric: str = "time",
        unit: str = "s",
        **more: Any,
    ) -> None:
        if estimate is not None:
            more |= {"low": estimate * (1 - half), "high": estimate * (1 + half)}
        self.store.add_result(
            run_id,
            case,
            Result(
                case.hash,
                metric,
                unit,
                estimate=estimate,
                fingerprint=fingerprint,
                environment=environment,
                **more,
            ),
        )


@contextmanager
def nights_in(path: Path) -> Iterator[Nights]:
    """A new store that knows two environments: f1 with numpy 2.2.6, f2 with 2.3.5."""
    with Store.open(path) as store:
        store.add_environment("f1", interpreter(numpy="2.2.6", torch="2.9.0"))
        store.add_environment("f2", interpreter(numpy="2.3.5", torch="2.9.0"))
        yield Nights(store)


def scatter(index: int) -> float:
    """About ± 0.7 % of made-up noise, the same on every machine."""
    return 1 + 0.001 * ((index * 7 + index * index * 3) % 15 - 7)
