"""What a page tells of a run: gathered from a store, with the questions asked of it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.analyse.compare import Comparison, compare
from opbench.analyse.history import Series, histories
from opbench.analyse.projection import columns
from opbench.analyse.sides import Side, find_side, labels_of
from opbench.analyse.within import comparisons_of
from opbench.define import suites
from opbench.errors import UserError
from opbench.report.page.garbage import gc_paused
from opbench.store import Store
from opbench.store.facts import machine_of
from opbench.store.records import RunRecord, StoredResult

#: A page of more results than this compares with an earlier run only when it is asked to: a
#: comparison reads all samples of both, and takes about as long as everything else.
COMPARED_UNASKED = 20_000
#: How many runs back an earlier one with the same cases is looked for.
EARLIER = 50


@dataclass(frozen=True)
class Contents:
    run: RunRecord
    #: By arrival. With their samples, or these are in `samples`.
    results: Sequence[StoredResult]
    #: Facts by fingerprint.
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    comparisons: Sequence[Comparison] = ()
    history: Sequence[Series] | None = None
    #: Packed, by case hash, environment and metric: a hundred thousand results have millions of
    #: samples, and an object for each takes longer than all the rest of the page.
    samples: Mapping[tuple[str, str, str], bytes] = field(default_factory=dict)
    #: What each suite gathered for its charts, by its name; those that have something.
    of_suites: Mapping[str, Any] = field(default_factory=dict)


def gather(
    store: Store,
    run: str = "last",
    *,
    against: str | None = None,
    history: bool = True,
    metric: str | None = None,
) -> Contents:
    """`run` and `against` are what `opbench compare` takes. Without `against`, what the run itself
    compares; where it compares nothing, the latest earlier run of the same cases."""
    with gc_paused():
        return _gathered(store, store.find_run(run), against, history, metric)


def _gathered(
    store: Store, record: RunRecord, against: str | None, history: bool, metric: str | None
) -> Contents:
    many = sum(store.tally(record).get(record.id, {}).values()) > COMPARED_UNASKED
    apart = many and not against
    results = store.results(run=record, metric=metric, samples=not apart)
    facts = store.environments({stored.result.fingerprint for stored in results})
    return Contents(
        run=record,
        results=results,
        environments=facts,
        samples=store.packed_samples(record) if apart else {},
        comparisons=_comparisons(store, record, results, against),
        history=histories(store, record.id) if history else None,
        of_suites=_of_suites(store, results, facts),
    )


def _of_suites(
    store: Store, results: Sequence[StoredResult], facts: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    gathered = {name: suite.gather(store, results, facts) for name, suite in suites.every().items()}
    return {name: found for name, found in gathered.items() if found is not None}


def _comparisons(
    store: Store, run: RunRecord, results: Sequence[StoredResult], against: str | None
) -> list[Comparison]:
    name = run.name or run.id
    if against:
        base = find_side(store, against)
        if base.run.id == run.id:
            return _against_others(base, results)
        # Two runs of one name: their ids tell them apart.
        names = (base.run.id, run.id) if base.name == name else (base.name, name)
        return [compare(base.results, results, names=names)]
    if len(results) > COMPARED_UNASKED:
        return []
    found = comparisons_of(run, results)
    if found:
        return found
    before = _earlier(store, run)
    if before is None:
        return []
    title = before.name if before.name and before.name != run.name else before.id
    others = store.results(run=before, samples=True)
    found = [compare(others, results, names=(title, name if title == before.name else run.id))]
    return [each for each in found if each.rows]


def _against_others(base: Side, results: Sequence[StoredResult]) -> list[Comparison]:
    """A side of the run itself with the rest of it, environment by environment."""
    held = {stored.result.key() for stored in base.results}
    others = [stored for stored in results if stored.result.key() not in held]
    if not others:
        raise UserError(f"'{base.name}' is all of this run; name another run, or a part of it")
    labels = labels_of(base.run)
    return [
        compare(base.results, each, names=(base.name, labels.get(place, place)))
        for place, each in columns(others, "environment").items()
    ]


def _earlier(store: Store, run: RunRecord) -> RunRecord | None:
    """The latest run before this one, on the same machine, that has one of its cases."""
    wanted = store.case_ids(run)
    looked = 0
    for other in store.runs():
        if (other.created, other.id) >= (run.created, run.id):
            continue
        looked += 1
        if looked > EARLIER:
            break
        if machine_of(other.machine) != machine_of(run.machine):
            continue
        if wanted & store.case_ids(other):
            return other
    return None
