"""Finding the case a person means: by id, by hash, or by a part of one that only it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opbench.case import Case, shortens
from opbench.errors import UserError, first_of

if TYPE_CHECKING:
    from opbench.store.records import StoredResult


def stored(text: str, store: str | None) -> tuple[Case, list[StoredResult]] | None:
    """The stored case of that name and all its results; None when the store does not have it."""
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


#: What ends so is meant as a file.
FILES = (".jsonl", ".py", ".toml")

ID = re.compile(r"(?P<suite>[^/]+)/(?P<name>[^[]+)\[(?P<labels>.*)\](/(?P<stage>\w+))?")


def spelled(text: str, targets: Sequence[str]) -> Case | None:
    """The case of that id, or of its usual stage where the id has none, on axes that a definition
    does not have by default; None for any other text, or where no definition has such a case."""
    from opbench.define import suites
    from opbench.define.expand import RESERVED, expand
    from opbench.define.targets import resolve

    found = ID.fullmatch(text)
    if found is None:
        return None
    labels = dict(each.partition("=")[::2] for each in found["labels"].split(","))
    wanted = list(targets) or [name for name in suites.named() if name == found["suite"]]
    for definition in resolve(wanted).definitions if wanted else ():
        if (definition.suite, definition.name) != (found["suite"], found["name"]):
            continue
        known = {*definition.axes, *RESERVED}
        axes = {axis: [value] for axis, value in labels.items() if axis in known}
        try:
            cases = expand([definition], axes=axes, stages=list(filter(None, [found["stage"]])))
        except UserError:
            continue
        same = [case for case in cases if text in (case.id, case.id.rpartition("/")[0])]
        if same:
            return same[0]
    return None


def stored_ids(store: str | None) -> list[str]:
    from opbench.store import Store, StoreError

    try:
        with Store.open(store, create=False) as opened:
            return [case.id for case in opened.cases()]
    except StoreError:
        return []


def among(text: str, cases: Sequence[Case], others: Callable[[], Sequence[str]] = list) -> Case:
    """The one case that `text` names; an error offers the ids of `others` too."""
    exact = [case for case in cases if text in (case.id, case.hash)]
    matches = exact or [case for case in cases if text in case.id or case.hash.startswith(text)]
    matches = matches or [case for case in cases if shortens(text, case.id)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        if text.endswith(FILES):
            raise UserError(f"file not found: {text}")
        from opbench.store.lookup import near_case

        hint = near_case(text, [*others(), *(case.id for case in cases)])
        raise UserError(f"no case '{text}'{hint}")
    ids = first_of(case.id for case in matches)
    raise UserError(f"'{text}' matches {len(matches)} cases: {ids}")
