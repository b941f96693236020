"""Choosing rows and columns among results, as benchstat does.

A *key* is a property of a result: `name`, `suite`, `stage`, `framework`, `runtime`, `device`,
`dtype`, `threads`, `environment`, `run`, `metric`, `node`, or any axis. `--filter` keeps results by
keys (`n=64,512`, as `-a` spells it, or `n:64,512`), `--col` turns the values of one key into
columns to compare, `--row` names the keys that make a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opbench.case import label_text
from opbench.errors import UserError, unknown
from opbench.store.records import StoredResult

FIELDS = ("suite", "name", "stage", "framework", "runtime", "device", "dtype", "threads", "id")


def value_of(stored: StoredResult, key: str) -> str | None:
    """The text of a key for one result; None where its case has no such axis."""
    axes = stored.case.axes
    if key in axes:
        return label_text(axes[key])
    if key in ("metric", "environment"):
        return str(getattr(stored.result, key))
    if key == "node":
        return stored.result.node or None
    if key == "run":
        return stored.run_id
    if key in FIELDS:
        return str(getattr(stored.case, key))
    return None


def keys_of(results: Iterable[StoredResult]) -> list[str]:
    results = list(results)
    axes = dict.fromkeys(axis for stored in results for axis in stored.case.axes)
    keys = [*axes, *FIELDS, "metric", "environment", "run"]
    # Of a fleet only: elsewhere there is nothing to choose.
    return [*keys, "node"] if any(stored.result.node for stored in results) else keys


@dataclass(frozen=True)
class Filter:
    """`name=add,mul -stage=backward`: every term must hold; a minus negates one."""

    terms: tuple[tuple[str, tuple[str, ...], bool], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Filter:
        terms = []
        for word in text.split():
            wanted = not word.startswith("-")
            key, *values = re.split("[=:]", word.lstrip("-"), maxsplit=1)
            if not key or not any(values):
                raise UserError(
                    f"a filter is written KEY=VALUE[,VALUE] or -KEY=VALUE, not '{word}'"
                )
            terms.append((key, tuple(values[0].split(",")), wanted))
        return cls(tuple(terms))

    def check(self, results: Sequence[StoredResult]) -> None:
        """Refuse a key that no result has, rather than keep nothing."""
        for key, _, _ in self.terms:
            check_key(key, results)

    def keep(self, results: Sequence[StoredResult]) -> list[StoredResult]:
        return [stored for stored in results if self._holds(stored)]

    def _holds(self, stored: StoredResult) -> bool:
        return all(
            (value_of(stored, key) in values) == wanted for key, values, wanted in self.terms
        )


def check_key(key: str, results: Sequence[StoredResult]) -> None:
    known = keys_of(results)
    if key not in known:
        raise UserError(unknown("key", key, known))


def columns(results: Sequence[StoredResult], key: str) -> dict[str, list[StoredResult]]:
    """Results by the value of a key, in order of appearance; those without it are left out."""
    check_key(key, results)
    found: dict[str, list[StoredResult]] = {}
    for stored in results:
        value = value_of(stored, key)
        if value is not None:
            found.setdefault(value, []).append(stored)
    return found


def title(stored: StoredResult, rows: Sequence[str] = (), without: str = "") -> str:
    """What a result's row is called: the named keys, or the id less the compared key."""
    if rows:
        return " ".join(f"{key}={value_of(stored, key) or ''}" for key in rows)
    case = stored.case
    suite = "*" if without == "suite" else case.suite
    name = "*" if without == "name" else case.name
    axes = ",".join(f"{axis}={label_text(v)}" for axis, v in case.labels if axis != without)
    stage = "" if without == "stage" else f"/{case.stage}"
    return f"{suite}/{name}{f'[{axes}]' if axes else ''}{stage}"
