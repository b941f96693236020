"""What a person may name as a side of a comparison, and the results behind it.

A run (id, name, `last`, `last~1`), `RUN:ENVIRONMENT`, an environment, a commit, a machine or a
device. Of several runs that fit, the latest counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from opbench.define.definition import DefineError
from opbench.store import Store, StoreError
from opbench.store.records import RunRecord, StoredResult

#: Fewer digits of a commit would match by chance.
SHORTEST_COMMIT = 4


@dataclass(frozen=True)
class Side:
    name: str
    run: RunRecord
    results: tuple[StoredResult, ...]

    @property
    def machine(self) -> str:
        return machine_of(self.run)


def machine_of(run: RunRecord) -> str:
    """What makes numbers of two runs comparable: the machine, not its load."""
    system = run.machine.get("system") or {}
    cpu = run.machine.get("cpu") or {}
    return str(system.get("machine_id") or "") or f"{cpu.get('model')}/{cpu.get('logical_cores')}"


def find_side(store: Store, text: str) -> Side:
    """The results a person means by `text`; one line with near names where there are none."""
    run_ref, colon, environment = text.partition(":")
    if colon:
        run = store.find_run(run_ref)
        return _side(store, run, text, lambda s: s.result.environment == environment)
    try:
        run = store.find_run(text)
    except StoreError as missing:
        return _by_attribute(store, text, missing)
    return _side(store, run, run.name or run.id, lambda _: True)


def environments_of(store: Store, run: RunRecord) -> list[str]:
    """Names of the environments a run measured in, in their order."""
    return list(dict.fromkeys(s.result.environment for s in store.results(run=run)))


def _by_attribute(store: Store, text: str, missing: StoreError) -> Side:
    names: list[str] = []
    for run in store.runs():
        if len(text) >= SHORTEST_COMMIT and run.commit.startswith(text):
            return _side(store, run, f"commit {run.commit[:10]}", lambda _: True)
        if text == machine_of(run):
            return _side(store, run, f"machine {text}", lambda _: True)
        environments = environments_of(store, run)
        if text in environments:
            return _side(store, run, text, lambda s: s.result.environment == text)
        if text in ("cpu", "cuda"):
            found = store.results(run=run)
            if any(s.case.device.startswith(text) for s in found):
                return _side(store, run, text, lambda s: s.case.device.startswith(text))
        names += [run.name, *environments]
    near = difflib.get_close_matches(text, [name for name in names if name], n=3)
    hint = f"; did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
    raise DefineError(
        f"no run, environment, commit, machine or device is called '{text}'{hint}"
    ) from missing


def _side(store: Store, run: RunRecord, name: str, keep: Callable[[StoredResult], bool]) -> Side:
    results = tuple(s for s in store.results(run=run, samples=True) if keep(s))
    if not results:
        raise DefineError(f"'{name}' has no results")
    return Side(name, run, results)


def same_machine(base: Side, new: Side) -> None:
    if base.machine != new.machine:
        raise DefineError(
            f"'{base.name}' and '{new.name}' were measured on different machines; "
            "compare them with --across-machines if that is the question"
        )
