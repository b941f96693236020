"""What a file of another tool holds, in our terms: a run, and a result for each benchmark.

Files come from strangers. What is read here is checked for its type, and every number for being
one: the text of an `Unreadable` says what is wrong, in one line.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from opbench.case import Case, Label
from opbench.errors import plural
from opbench.result import Result, Sample, Warning
from opbench.stats.estimate import estimate
from opbench.store import RunRecord

#: The first second of the year 2200: later moments are mistakes.
LATEST = 7_258_118_400.0
#: A longer text is a name, whatever its signs are.
LONGEST_NUMBER = 30


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
    #: Files with the same value here are one run; empty for a run of its own.
    part_of: tuple[str, ...] = ()
    #: A name for the run; empty for that of the file.
    name: str = ""
    #: What to know of the file before its results are used; the command prints it.
    remark: str = ""
    #: The run as it was stored elsewhere, where the file is our own: it keeps its id.
    record: RunRecord | None = None

    @property
    def fingerprint(self) -> str:
        text = json.dumps([self.tool, self.machine, self.environment], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def imported_case(
    tool: str, name: str, labels: Mapping[str, Label] | None = None, device: str = "cpu"
) -> Case:
    """A case with a name and no source: it has a history and no script."""
    return Case(
        suite=tool,
        name=name,
        stage="call",
        stmt="pass",
        labels=tuple((labels or {}).items()),
        device=device,
        unsupported=f"imported from {tool}: what it executes is not known here",
    )


def sampled(
    case: Case,
    starts: Iterable[Sequence[float]],
    *,
    metric: str,
    unit: str,
    calls: int | Sequence[int] = 1,
) -> Result:
    """A result of values by process, estimated as our own are: processes are the unit. `calls` per
    value: one number for all, or one for each."""
    samples: list[Sample] = []
    count = 0
    for start, values in enumerate(starts):
        for value in values:
            n = calls if isinstance(calls, int) else calls[len(samples)]
            samples.append(Sample(float(value), start=start, order=len(samples), n=max(1, n)))
        count += bool(len(values))
    try:
        found = estimate((s.start, s.session, s.value) for s in samples)
    except OverflowError:  # squares of them are beyond all floats
        raise Unreadable(f"values of {case.id} are too large to be measurements") from None
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


def summarised(
    case: Case, value: float, advice: str, detail: Mapping[str, Any], **of_metric: str
) -> Result:
    """A result of which the file gives one number only: what it scatters by is not known."""
    metric, unit = of_metric.get("metric", "time"), of_metric.get("unit", "s")
    text = f"the file holds no raw data, so the scatter is not known; {advice}"
    return Result(
        case.hash,
        metric,
        unit,
        estimate=value,
        warnings=(Warning("no-samples", text),),
        detail=dict(detail),
    )


def moment(text: Any) -> float:
    """Seconds since the epoch of an ISO date, UTC where it does not say; 0 where it is none."""
    try:
        found = datetime.fromisoformat(str(text).strip())
        return within_time(
            (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
        )
    except (ValueError, OverflowError):
        return 0.0


def within_time(seconds: Any) -> float:
    """The same of seconds since the epoch, which may be anything."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return 0.0
    return float(seconds) if 0 < seconds < LATEST else 0.0


def label(value: Any) -> Label:
    """A parameter as a label: plain values as they are, anything else by its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value, default=str)


def label_from_text(text: str) -> Label:
    """`64` as a number, `'fast'` without its quotes, and any other text as it is."""
    for kind in (int, float) if len(text) <= LONGEST_NUMBER else ():
        try:
            found = kind(text)
        except ValueError:
            continue
        return found if math.isfinite(found) else text
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return {"True": True, "False": False, "None": None}.get(text, text)


def dictionary(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is {type(value).__name__}, not an object")
    return value


def listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{what} is {type(value).__name__}, not a list")
    return value


def number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable(f"{what} is {type(value).__name__}, not a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Unreadable(f"{what} is {found}, not a finite number")
    return found


def numbers(value: Any, what: str) -> list[float]:
    return [number(each, f"a value of {what}") for each in listed(value, what)]


def numbers_among(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, float]:
    """Those that are there and are finite numbers: facts for the detail of a result."""
    found = {}
    for name in names:
        try:
            found[name] = number(values.get(name), name)
        except Unreadable:
            continue
    return found
