"""A point of a history, and what differs between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Of an interpreter's facts, the ones whose change is told by name, and how they are called.
TOLD = (("version", "python"), ("numpy_blas", "blas"))
#: Variables that choose threads or kernels, by the fact they are kept in.
SETTINGS = ("threads", "kernels")


@dataclass(frozen=True)
class Difference:
    """Something that is not what it was at the point before."""

    #: case, package, interpreter, setting, environment, opbench, commit
    kind: str
    name: str
    #: Empty where there was, or is, none.
    before: str
    after: str


@dataclass(frozen=True)
class HistoryPoint:
    run_id: str
    created: float
    name: str
    #: Of the user's project; with `dirty`, something not committed was measured.
    commit: str
    dirty: bool
    environment: str
    fingerprint: str
    machine: str
    version: str
    case_hash: str
    outcome: str
    reason: str
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def ok(self) -> bool:
        return self.outcome == "ok" and self.estimate is not None and math.isfinite(self.estimate)


def differences(
    before: HistoryPoint, after: HistoryPoint, facts: dict[str, dict[str, Any]]
) -> tuple[Difference, ...]:
    """What is stored and differs, the likeliest cause first."""
    found = []
    if before.case_hash != after.case_hash:
        found.append(Difference("case", "case", before.case_hash, after.case_hash))
    if before.fingerprint != after.fingerprint:
        found += _in_environment(before.fingerprint, after.fingerprint, facts)
    if before.version != after.version:
        found.append(Difference("opbench", "opbench", before.version, after.version))
    old_commit, new_commit = (f"{p.commit}{'+' if p.dirty else ''}" for p in (before, after))
    if old_commit != new_commit:
        found.append(Difference("commit", "commit", old_commit, new_commit))
    return tuple(found)


def _in_environment(before: str, after: str, facts: dict[str, dict[str, Any]]) -> list[Difference]:
    old, new = (part(facts.get(mark, {}), "interpreter") for mark in (before, after))
    found: list[Difference] = []
    if old and new:
        found += _changed("package", packages_of(old), packages_of(new))
        found += _changed("interpreter", _told(old), _told(new))
        for setting in SETTINGS:
            found += _changed("setting", part(old, setting), part(new, setting))
    if old.get("commit") != new.get("commit"):
        return found  # environments made from commits: the points themselves tell those
    # The facts of one side never arrived, or are of a kind that is not told: that much is known.
    return found or [Difference("environment", "environment", before, after)]


def _changed(kind: str, old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    names = sorted(set(old) | set(new))
    return [
        Difference(kind, name, str(old.get(name, "")), str(new.get(name, "")))
        for name in names
        if old.get(name) != new.get(name)
    ]


def packages_of(interpreter: dict[str, Any]) -> dict[str, str]:
    """Versions by name: of the frameworks found, and of all that a built environment pins."""
    pinned = (str(pin).partition("==") for pin in interpreter.get("installed") or ())
    found = {name: version for name, _, version in pinned if version}
    return {**found, **part(interpreter, "packages")}


def _told(interpreter: dict[str, Any]) -> dict[str, str]:
    return {name: interpreter[key] for key, name in TOLD if interpreter.get(key)}


def part(facts: dict[str, Any], name: str) -> dict[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}
