"""Finding the case a person means: by id, by hash, or by a part of one that only it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.case import Case
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.store.records import StoredResult

#: Candidates named when a part is not unique.
NAMED = 5


def stored(text: str, store: str | None) -> tuple[Case, list[StoredResult]] | None:
    """The stored case of that name and all its results; None when the store has none such."""
    from opbench.store import Store, StoreError
    from opbench.store.errors import NotFound

    try:
        opened = Store.open(store, create=False)
    except StoreError:
        if store is not None:
            raise
        return None
    with opened:
        try:
            versions = opened.find_cases(text)
        except NotFound:
            return None
        newest = versions[0]
        return newest, opened.results(case_id=newest.id)


def defined(targets: Sequence[str]) -> list[Case]:
    """Every case of the given suites and files, or of all built-in suites."""
    from opbench.define import suites
    from opbench.define.expand import expand
    from opbench.define.targets import resolve

    return expand(resolve(targets or list(suites.named())).definitions)


def among(text: str, cases: Sequence[Case]) -> Case:
    exact = [case for case in cases if text in (case.id, case.hash)]
    found = exact or [case for case in cases if text in case.id or case.hash.startswith(text)]
    if len(found) == 1:
        return found[0]
    if not found:
        import difflib

        near = difflib.get_close_matches(text, [case.id for case in cases], n=3, cutoff=0.3)
        hint = f"; the nearest are {', '.join(near)}" if near else ""
        raise UserError(f"no case is called '{text}'{hint}")
    names = ", ".join(case.id for case in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    raise UserError(f"'{text}' is part of {len(found)} ids: {names}{more}")
