"""From Callgrind's dumps to results: per call, the empty loop taken off, noise set apart.

Two things in a process depend on where memory happens to lie: how long an allocator searches and
how many slots of a hash table are probed. Their internals are most of the noise of an instruction
count, and rarely what anybody wants to know; so the metric `instructions` leaves them out, and
`instructions_raw` and `allocations` stand beside it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.counting import Profile, allocations, noise, read, valgrind
from opbench.result import Result, Sample

#: Filtered counts repeat; more than this between repeats says that the code does not. The loop
#: around it may still settle by an instruction or two, which is much of an empty statement.
REPEATABLE, SETTLING = 0.001, 3.0


#: Above this share of instructions in functions without names, too little can be told of them.
NAMELESS = 0.05


def unsupported(case: Case) -> str:
    """Why this case's instructions would mean nothing; empty when they can be counted."""
    if case.threads > 1:
        return (
            f"with {case.threads} threads the count depends on how long they wait for each other; "
            "instructions are counted for one thread"
        )
    if case.device != "cpu":
        return f"Valgrind counts the processor's instructions, and cannot run {case.device}"
    return valgrind.why_not()


def profiles(answer: Mapping[str, Any]) -> list[Profile]:
    """One profile per repeat, of all its calls together; the dumps are read and removed."""
    parts = {key: [_take(path) for path in paths] for key, paths in answer["dumps"].items()}
    found = [stmt - idle for stmt, idle in zip(parts["stmt"], parts["idle"])]
    if "minus" in parts:
        minus = [m - empty for m, empty in zip(parts["minus"], parts["empty"])]
        found = [whole - part for whole, part in zip(found, minus)]
    return found


def results(case: Case, answer: Mapping[str, Any], place: Mapping[str, Any]) -> list[Result]:
    number = int(answer["number"])
    counted = profiles(answer)
    quiet = [sum(c for f, c in p.own.items() if not noise(f)) for p in counted]
    # The quietest repeat: lazily made state only adds.
    best = min(range(len(counted)), key=quiet.__getitem__)
    detail = {
        "source": valgrind.SOURCE,
        "calls": number,
        "way": case.timing_mode,
        "functions": counted[best].pack(),
    }
    raw = [profile.total for profile in counted]
    asked = [allocations(profile) for profile in counted]
    made = [
        _result(case, "instructions", "instructions", quiet, number, detail, place),
        _result(case, "instructions_raw", "instructions", raw, number, {}, place),
        _result(case, "allocations", "count", asked, number, {}, place),
    ]
    allowed = max(min(quiet) * REPEATABLE, SETTLING * number)
    if 0 < min(quiet) < max(quiet) - allowed:
        made[0] = made[0].with_warning(
            "unrepeatable",
            f"two counts of the same calls differ by {max(quiet) / min(quiet) - 1:.2%}: the code "
            "grows something, draws random numbers or reads the time; let each call do the same",
        )
    if said := nameless(counted[best]):
        made[0] = made[0].with_warning("nameless", said)
    return made


def nameless(profile: Profile) -> str:
    """What to do about a library without symbols, when much of the count is in it; else empty.

    A system's own Python is mostly stripped: Valgrind then knows of its functions only addresses.
    """
    unnamed: dict[str, int] = {}
    for function, count in profile.own.items():
        if function.name == "???" and not noise(function):
            unnamed[function.object] = unnamed.get(function.object, 0) + count
    total = profile.total
    if total <= 0 or not unnamed:
        return ""
    library = max(unnamed, key=unnamed.__getitem__)
    if unnamed[library] <= NAMELESS * total:
        return ""
    python = re.match(r"(?:lib)?(python3\.\d+)", library)
    package = f" (Debian: apt install {python[1]}-dbg)" if python else ""
    return (
        f"{unnamed[library] / total:.0%} of the instructions are in functions of {library} "
        "without names, so its allocator and hash tables cannot be set apart, nor any of them "
        f"blamed; install its debug symbols{package}, or use a build that has them"
    )


def _result(
    case: Case,
    metric: str,
    unit: str,
    totals: list[int],
    number: int,
    detail: dict[str, Any],
    place: Mapping[str, Any],
) -> Result:
    values = [total / number for total in totals]
    return Result(
        case_hash=case.hash,
        metric=metric,
        unit=unit,
        estimate=min(values),
        low=min(values),
        high=max(values),
        samples=tuple(Sample(value, order=i, n=number) for i, value in enumerate(values)),
        detail=detail,
        created=time.time(),
        **place,
    )


def _take(path: str) -> Profile:
    file = Path(path)
    with file.open(encoding="utf-8", errors="replace") as lines:
        profile = read(lines)
    file.unlink()
    return profile
