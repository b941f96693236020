"""What differs between two points of a history, apart from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opbench.store.facts import packages_of, section
from opbench.store.history import HistoryRow, Origin

#: Facts of an interpreter whose change is reported, and the names they are reported under.
REPORTED = (("version", "python"), ("numpy_blas", "blas"))
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


def differences(before: HistoryRow, after: HistoryRow) -> tuple[Difference, ...]:
    """What is stored and differs, the likeliest cause first."""
    found = []
    if before.case_hash != after.case_hash:
        found.append(Difference("case", "case", before.case_hash, after.case_hash))
    if before.origin.fingerprint != after.origin.fingerprint:
        found += _in_environment(before.origin, after.origin)
    if before.run.version != after.run.version:
        found.append(Difference("opbench", "opbench", before.run.version, after.run.version))
    old_commit, new_commit = (
        f"{origin.commit}{'+' if origin.dirty else ''}" for origin in (before.origin, after.origin)
    )
    if old_commit != new_commit:
        found.append(Difference("commit", "commit", old_commit, new_commit))
    return tuple(found)


def _in_environment(before: Origin, after: Origin) -> list[Difference]:
    old, new = (section(origin.facts, "interpreter") for origin in (before, after))
    found: list[Difference] = []
    if old and new:
        found += _changed("package", packages_of(old), packages_of(new))
        found += _changed("interpreter", _reported(old), _reported(new))
        for setting in SETTINGS:
            found += _changed("setting", section(old, setting), section(new, setting))
    if before.built_from != after.built_from:
        return found  # the commits of the points say the rest
    # The facts of one side never arrived, or are of a kind that is not reported.
    return found or [
        Difference("environment", "environment", before.fingerprint, after.fingerprint)
    ]


def _changed(kind: str, old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    names = sorted(set(old) | set(new))
    return [
        Difference(kind, name, str(old.get(name, "")), str(new.get(name, "")))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _reported(interpreter: dict[str, Any]) -> dict[str, str]:
    return {name: interpreter[key] for key, name in REPORTED if interpreter.get(key)}
