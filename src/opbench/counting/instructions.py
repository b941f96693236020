"""From Callgrind's dumps to results: per call, empty loop subtracted, noise separated.

Two things in a process depend on memory addresses: how long an allocator searches and how many
slots of a hash table are probed. Their internals are most of the noise of an instruction count, and
rarely of interest; so the metric `instructions` leaves them out, and `instructions_raw` and
`allocations` are reported with it.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.counting import Profile, allocations, noise, read, valgrind
from opbench.result import Result, Sample
from opbench.worker.callgrind import plans

#: Filtered counts repeat; a larger difference between repeats means that the code does not. The
#: loop around it may still settle by an instruction or two, which is much of an empty statement.
REPEATABLE, SETTLING = 0.001, 3.0

#: Seconds until a worker under Valgrind has imported a framework such as torch.
FRAMEWORK_START = 20.0

#: Above this share of instructions in functions without names, too little is known about them.
NAMELESS = 0.05

#: The interpreter's own file, by whose version its package is named.
PYTHON = re.compile(r"(?:lib)?(python3\.\d+)")


def unsupported(case: Case) -> str:
    """Why this case's instructions cannot be counted; empty when they can."""
    if case.threads > 1:
        return (
            f"with {case.threads} threads the count depends on how long they wait for each other; "
            "instructions are counted for one thread"
        )
    if case.device != "cpu":
        return f"Valgrind counts instructions of the CPU and cannot run {case.device}"
    return valgrind.why_not()


def expected_seconds(
    natively: Sequence[float | None], starts: bool, number: int | None, repeats: int | None
) -> float:
    """Roughly how long one worker takes to count cases whose calls take this long; None: unknown.

    `starts`: whether a worker that imports a framework must be started first.
    """
    each = (plans.expected_seconds(native or 0.0, number, repeats) for native in natively)
    return sum(each) + (FRAMEWORK_START if starts else 0.0)


def profiles(answer: Mapping[str, Any]) -> list[Profile]:
    """One profile per repeat, summed over its calls; the dumps are read and removed."""
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
    # The smallest count: lazily created state only adds.
    best = min(range(len(counted)), key=quiet.__getitem__)
    detail = {
        "source": valgrind.SOURCE,
        "calls": number,
        "way": case.timing_mode,
        "functions": counted[best].pack(),
    }
    raw = [profile.total for profile in counted]
    allocated = [allocations(profile) for profile in counted]
    found = [
        _result(case, "instructions", "instructions", quiet, number, detail, place),
        _result(case, "instructions_raw", "instructions", raw, number, {}, place),
        _result(case, "allocations", "count", allocated, number, {}, place),
    ]
    if warning := unrepeatable(quiet, number, answer.get("threads", 1)):
        found[0] = found[0].with_warning("unrepeatable", warning)
    if warning := nameless(counted[best]):
        found[0] = found[0].with_warning("nameless", warning)
    if warning := allocator_unknown(counted[best]):
        found[2] = found[2].with_warning("nameless", warning)
    return found


def unrepeatable(counts: Sequence[int], number: int, threads: int) -> str:
    """The warning about counts that another run need not find again."""
    if threads > 1:
        return (
            f"{threads} threads took part, and how long they wait for each other is counted too; "
            "use one: torch.set_num_threads(1)"
        )
    allowed = max(min(counts) * REPEATABLE, SETTLING * number)
    if not 0 < min(counts) < max(counts) - allowed:
        return ""
    return (
        f"two counts of the same calls differ by {max(counts) / min(counts) - 1:.2%}: the code "
        "accumulates state, draws random numbers or reads the time; make each call do the same"
    )


def unnamed_instructions(profile: Profile) -> dict[str, int]:
    """By library: instructions in functions without a name.

    A system's own Python is mostly stripped: Valgrind then knows its functions by address only.
    """
    unnamed: dict[str, int] = {}
    for function, count in profile.own.items():
        if function.name == "???" and not noise(function):
            unnamed[function.object] = unnamed.get(function.object, 0) + count
    return unnamed


def allocator_unknown(profile: Profile) -> str:
    """The warning about a Python whose own allocator may be among its functions without names."""
    library = next(filter(PYTHON.match, unnamed_instructions(profile)), None)
    if library is None:
        return ""
    return (
        f"{library} has functions without names, so memory from Python's own allocator is not "
        f"counted, only that from the C library's; {to_name(library)}"
    )


def to_name(library: str) -> str:
    """What to do about functions without names."""
    python = PYTHON.match(library)
    package = f" (Debian: apt install {python[1]}-dbg)" if python else ""
    return f"install its debug symbols{package}, or use a build that has them"


def nameless(profile: Profile) -> str:
    """The warning about a library without symbols that holds much of the count; else empty."""
    unnamed, total = unnamed_instructions(profile), profile.total
    if total <= 0 or not unnamed:
        return ""
    library = max(unnamed, key=unnamed.__getitem__)
    if unnamed[library] <= NAMELESS * total:
        return ""
    return (
        f"{unnamed[library] / total:.0%} of the instructions are in functions of {library} "
        "without names, so its allocator and hash tables cannot be left out, nor changes be "
        f"attributed; {to_name(library)}"
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
    text = file.read_text(encoding="utf-8", errors="replace")
    file.unlink()
    head, mark, counts = text.partition("\npositions:")
    return _read_once(mark + counts) if mark else read(head.split("\n"))


@functools.lru_cache(maxsize=8)  # of a case or two, and of the empty loop, the same in all cases
def _read_once(text: str) -> Profile:
    return read(text.split("\n"))
