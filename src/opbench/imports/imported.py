"""What a file of another tool holds, in our terms: a run, and a result for each benchmark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from opbench.case import Case, Label
from opbench.errors import plural
from opbench.result import Result, Sample, Warning
from opbench.stats.estimate import estimate


class Unreadable(ValueError):
    """One line on what is wrong with the file; the command says which file."""


@dataclass(frozen=True)
class Imported:
    tool: str
    #: Seconds since the epoch, as the tool says; zero where it does not.
    created: float
    commit: str
    machine: dict[str, Any]
    #: Facts of the interpreter it ran in.
    environment: dict[str, Any]
    pairs: list[tuple[Case, Result]] = field(default_factory=list)
    #: Files of one folder with the same value here are one run; empty for a run of its own.
    part_of: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        text = json.dumps([self.tool, self.machine, self.environment], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def imported_case(tool: str, name: str, labels: Mapping[str, Label] | None = None) -> Case:
    """A case with a name and no source: it has a history and no script."""
    return Case(
        suite=tool,
        name=name,
        stage="call",
        stmt="pass",
        labels=tuple((labels or {}).items()),
        unsupported=f"imported from {tool}: what it executes is not known here",
    )


def sampled(
    case: Case, starts: Iterable[Sequence[float]], *, metric: str, unit: str, calls: int = 1
) -> Result:
    """A result of values by process, estimated as our own are: processes are the unit."""
    samples: list[Sample] = []
    count = 0
    for start, values in enumerate(starts):
        for value in values:
            samples.append(Sample(float(value), start=start, order=len(samples), n=max(1, calls)))
        count += bool(len(values))
    found = estimate((s.start, s.session, s.value) for s in samples)
    if found is None:
        return Result(case.hash, metric, unit, "failed", "the file holds no values of it")
    warnings: tuple[Warning, ...] = ()
    if count < 3:
        text = (
            f"it rests on {plural(count, 'process start')}, so its interval is widened for what "
            "address layout does between starts; measure in more processes"
        )
        warnings = (Warning("few-starts", text),)
    return Result(
        case.hash,
        metric,
        unit,
        estimate=found.value,
        low=found.low,
        high=found.high,
        samples=tuple(samples),
        warnings=warnings,
        detail={"starts": count},
    )


def moment(text: Any) -> float:
    """Seconds since the epoch of an ISO date, UTC where it does not say; 0 where it is none."""
    try:
        found = datetime.fromisoformat(str(text).strip())
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def label(value: Any) -> Label:
    """A parameter as a label: plain values as they are, anything else by its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value, default=str)


def dictionary(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is {type(value).__name__}, not an object")
    return value


def listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{what} is {type(value).__name__}, not a list")
    return value


def numbers(value: Any, what: str) -> list[float]:
    found = listed(value, what)
    if not all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in found):
        raise Unreadable(f"{what} holds something that is not a number")
    return [float(each) for each in found]
