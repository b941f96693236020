"""What a person may name as a side of a comparison, and the results behind it.

A run (id, name, `last`, `last~1`), `RUN:ENVIRONMENT`, an environment, a commit, a machine or a
device. A commit goes by its hash, or by what `opbench ab` was given for it (`HEAD~1`). Of several
runs that fit, the latest counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opbench.errors import UserError, nearest, unknown
from opbench.store.errors import NotFound, StoreError
from opbench.store.facts import machine_of
from opbench.store.records import RunRecord, StoredResult

if TYPE_CHECKING:
    from opbench.store import Store

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


def labels_of(run: RunRecord) -> dict[str, str]:
    """What `opbench ab` calls the environments of its two sides, the base first; empty for other
    runs, which have no names for them but their own."""
    sides = run.request.get("sides")
    pairs = [each for each in sides if isinstance(each, list)] if isinstance(sides, list) else []
    return {str(each[0]): str(each[1]) for each in pairs if len(each) == 2}


def environments_of(store: Store, run: RunRecord) -> list[str]:
    """Names of the environments a run measured in, in their order."""
    return list(dict.fromkeys(s.result.environment for s in store.results(run=run)))


def _in_environment(store: Store, run: RunRecord, environment: str) -> Side:
    name = f"{run.name or run.id}:{environment}"
    known = environments_of(store, run)
    labels = labels_of(run)
    if known and environment not in (*known, *labels.values()):
        shown = [labels.get(each, each) for each in known]
        raise UserError(f"run {run.name or run.id}: {unknown('environment', environment, shown)}")
    return _side(store, run, name, lambda s: _in(s, environment, labels))


def _by_attribute(store: Store, text: str) -> Side | None:
    for run in store.runs():
        if text == machine_of(run.machine):
            return _side(store, run, f"machine {text}")
        results = store.results(run=run)
        if side := _of_environment(store, run, results, text):
            return side
        if any(_on(s, text) for s in results):
            return _side(store, run, text, lambda s: _on(s, text))
        if len(text) >= SHORTEST_COMMIT and (side := _of_commit(store, run, results, text)):
            return side
    return None


def _of_environment(
    store: Store, run: RunRecord, results: Iterable[StoredResult], text: str
) -> Side | None:
    labels = labels_of(run)
    if not any(_in(s, text, labels) for s in results):
        return None
    return _side(store, run, labels.get(text, text), lambda s: _in(s, text, labels))


def _of_commit(
    store: Store, run: RunRecord, results: Iterable[StoredResult], text: str
) -> Side | None:
    commits = _commits(store, run, results)
    commit = next((c for c in commits.values() if c.startswith(text.lower())), None)
    if commit is None:
        return None
    side = _side(
        store, run, f"commit {commit[:10]}", lambda s: commits[s.result.fingerprint] == commit
    )
    names = {labels_of(run).get(s.result.environment, side.name) for s in side.results}
    return replace(side, name=names.pop()) if len(names) == 1 else side


def _in(stored: StoredResult, environment: str, labels: Mapping[str, str]) -> bool:
    name = stored.result.environment
    return environment in (name, labels.get(name))


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
    names = [
        name
        for run in store.runs()
        for name in (run.name, *environments_of(store, run), *labels_of(run).values())
        if name
    ]
    hint = nearest(text, [*names, "last"], cutoff=0.6) or "; `opbench runs` lists the runs"
    return UserError(f"no run, environment, commit, machine or device is called '{text}'{hint}")


def _side(
    store: Store, run: RunRecord, name: str, keep: Callable[[StoredResult], bool] = lambda _: True
) -> Side:
    results = tuple(s for s in store.results(run=run, samples=True) if keep(s))
    if not results:
        raise UserError(f"run {name} has no results")
    return Side(name, run, results)


def different(base: Side, new: Side) -> None:
    """Refuse results that are on both sides: they agree with themselves."""
    if base.run.id != new.run.id:
        return
    keys = [{stored.result.key() for stored in side.results} for side in (base, new)]
    if keys[0] == keys[1]:
        raise UserError(
            f"both sides are the same run, {base.run.id}; name another one: an id (opbench runs), "
            "or last~1, the one before the latest"
        )
    if keys[0] & keys[1]:
        raise UserError(
            f"'{base.name}' and '{new.name}' share results of run {base.run.id}; name another run "
            f"on one side, or that one alone: opbench compare {base.run.id}"
        )


def same_machine(base: Side, new: Side) -> None:
    if base.machine != new.machine:
        raise UserError(
            f"'{base.name}' and '{new.name}' were measured on different machines; "
            "compare them with --across-machines if you mean to"
        )
