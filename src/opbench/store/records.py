"""What a store hands out: a run, and a result together with the case it belongs to."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from opbench.case import Case
from opbench.result import Result

#: running      begun, and not yet ended; also what a killed process leaves behind
#: finished     everything that was asked for has a result (an outcome other than ok included)
#: interrupted  ended early by the person, or by the budget; `--cont` completes it
#: failed       ended early by an error of the run itself, not of a case
RUN_STATUSES = ("running", "finished", "interrupted", "failed")


@dataclass(frozen=True)
class RunRecord:
    id: str
    name: str = ""
    #: Seconds since the epoch.
    created: float = 0.0
    finished: float | None = None
    status: str = "running"
    #: The command line as it was typed.
    command: str = ""
    #: Version of opbench.
    version: str = ""
    #: Commit of the user's project the run was started in, or nothing.
    commit: str = ""
    #: What `opbench doctor` would say of the machine.
    machine: dict[str, Any] = field(default_factory=dict)
    #: The sampling policy, spelled out.
    policy: dict[str, Any] = field(default_factory=dict)
    #: What was asked for, so that `--cont` can tell whether it continues the same thing.
    request: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def new(cls, name: str = "", **facts: Any) -> RunRecord:
        """A run that begins now, with an id of its own."""
        now = time.time()
        return cls(id=new_run_id(now), name=name, created=now, **facts)


@dataclass(frozen=True)
class StoredResult:
    run_id: str
    case: Case
    result: Result
    #: How many samples are stored; `result.samples` is empty unless samples were asked for.
    n_samples: int = 0


@dataclass(frozen=True)
class StoredVariance:
    """How much worker starts scattered in a run, for one metric and design: the sums of
    `stats.prior.VarianceFit`."""

    metric: str
    #: Of pairs; empty for the starts of single cases.
    design: str
    cases: int
    freedom: float
    logs: float
    squares: float
    expected: float


def new_run_id(now: float | None = None) -> str:
    """`20261115-031502-ab12`: sorts by time (UTC), short enough to type, unique in practice."""
    moment = datetime.fromtimestamp(time.time() if now is None else now, tz=timezone.utc)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
