"""What a person may name as a side of a comparison, and the results behind it.

A run (id, name, `last`, `last~1`), `RUN:ENVIRONMENT`, an environment, a commit, a machine or a
device. Of several runs that fit, the latest counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opbench.errors import UserError, nearest, unknown
from opbench.store import Store, StoreError
from opbench.store.errors import NotFound
from opbench.store.facts import machine_of
from opbench.store.records import RunRecord, StoredResult

#: Fewer digits of a commit would match by chance.
SHORTEST_COMMIT = 4

#: One device of several: its colon is not that of `RUN:ENVIRONMENT`.
DEVICE = re.compile(r"[a-z]+:\d+")


@dataclass(frozen=True)
class Side:
    name: str
    run: RunRecord
    results: tuple[StoredResult, ...]

    @property
    def machine(self) -> str:
        return machine_of(self.run.machine)


def find_side(store: Store, text: str) -> Side:
    """The results a person means by `text`; one line with near names where there are none."""
    run_ref, colon, environment = text.partition(":")
    if colon and not DEVICE.fullmatch(text):
        return _in_environment(store, store.find_run(run_ref), environment)
    try:
        run = store.find_run(text)
    except StoreError as error:
        side = None if text.startswith("last") else _by_attribute(store, text)
        if side is not None:
            return side
        if isinstance(error, NotFound):
            raise _unknown(store, text) from None
        raise
    return _side(store, run, run.name or run.id)


def side_names(base: Side, new: Side) -> tuple[str, str]:
    """Two runs of one name go by their ids."""
    return (base.run.id, new.run.id) if base.name == new.name else (base.name, new.name)


def environments_of(store: Store, run: RunRecord) -> list[str]:
    """Names of the environments a run measured in, in their order."""
    return list(dict.fromkeys(s.result.environment for s in store.results(run=run)))


def _in_environment(store: Store, run: RunRecord, environment: str) -> Side:
    name = f"{run.name or run.id}:{environment}"
    known = environments_of(store, run)
    if known and environment not in known:
        raise UserError(f"run {run.name or run.id}: {unknown('environment', environment, known)}")
    return _side(store, run, name, lambda s: s.result.environment == environment)


def _by_attribute(store: Store, text: str) -> Side | None:
    for run in store.runs():
        if text == machine_of(run.machine):
            return _side(store, run, f"machine {text}")
        results = store.results(run=run)
        if any(s.result.environment == text for s in results):
            return _side(store, run, text, lambda s: s.result.environment == text)
        if any(_on(s, text) for s in results):
            return _side(store, run, text, lambda s: _on(s, text))
        if len(text) >= SHORTEST_COMMIT and (side := _of_commit(store, run, results, text)):
            return side
    return None


def _of_commit(
    store: Store, run: RunRecord, results: Iterable[StoredResult], text: str
) -> Side | None:
    commits = _commits(store, run, results)
    commit = next((c for c in commits.values() if c.startswith(text.lower())), None)
    if commit is None:
        return None
    name = f"commit {commit[:10]}"
    return _side(store, run, name, lambda s: commits[s.result.fingerprint] == commit)


def _on(stored: StoredResult, device: str) -> bool:
    return stored.case.device == device or stored.case.device.partition(":")[0] == device


def _commits(store: Store, run: RunRecord, results: Iterable[StoredResult]) -> dict[str, str]:
    """The commit that was measured, by fingerprint: that of the environment where it is one, as in
    `opbench ab --commit`; otherwise the one the run was started in."""
    fingerprints = {stored.result.fingerprint for stored in results}
    facts = store.environments(fingerprints)
    return {
        each: str((facts.get(each, {}).get("interpreter") or {}).get("commit") or run.commit)
        for each in fingerprints
    }


def _unknown(store: Store, text: str) -> UserError:
    names = [n for run in store.runs() for n in (run.name, *environments_of(store, run)) if n]
    hint = nearest(text, [*names, "last"], cutoff=0.6) or "; `opbench runs` lists the runs"
    return UserError(f"no run, environment, commit, machine or device is called '{text}'{hint}")


def _side(
    store: Store, run: RunRecord, name: str, keep: Callable[[StoredResult], bool] = lambda _: True
) -> Side:
    results = tuple(s for s in store.results(run=run, samples=True) if keep(s))
    if not results:
        raise UserError(f"run {name} has no results")
    return Side(name, run, results)


def same_machine(base: Side, new: Side) -> None:
    if base.machine != new.machine:
        raise UserError(
            f"'{base.name}' and '{new.name}' were measured on different machines; "
            "compare them with --across-machines if you mean to"
        )
