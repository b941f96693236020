"""Finding runs and cases by what a person types: an id, a hash, a name, or a unique part of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, func, or_, select

from opbench.case import shortens
from opbench.errors import first_of, nearest, plural
from opbench.store.errors import NotFound, StoreError
from opbench.store.tables import cases, runs

#: A shorter prefix of a hash is more likely a word.
SHORTEST_HASH_PREFIX = 4


def find_run_id(connection: Connection, ref: str) -> str:
    """`last`, `last~2`, an id, a name (the latest run of it), or a unique beginning of an id."""
    newest = select(runs.c.id).order_by(runs.c.created.desc(), runs.c.id.desc())
    back = re.fullmatch(r"last(?:~(\d+))?", ref)
    if back:
        return _run_back(connection, int(back[1] or 0))
    exact = connection.scalar(select(runs.c.id).where(runs.c.id == ref))
    if exact is None:
        exact = connection.scalar(newest.where(runs.c.name == ref).limit(1)) if ref else None
    if exact is not None:
        return str(exact)
    starting = newest.where(runs.c.id.startswith(ref, autoescape=True)).limit(50)
    matches = list(connection.scalars(starting)) if ref else []
    if len(matches) == 1:
        return str(matches[0])
    if matches:
        raise StoreError(f"{ref!r} matches several runs: {first_of(matches)}")
    recent = connection.execute(
        select(runs.c.id, runs.c.name).order_by(runs.c.created.desc()).limit(1000)
    ).all()
    if not recent:
        raise StoreError(f"no run {ref!r}: the store has no runs yet")
    known = ["last", *(row.name for row in recent if row.name), *(row.id for row in recent)]
    hint = nearest(ref, known) or "; `opbench runs` lists them"
    raise NotFound(f"no run {ref!r}{hint}")


def _run_back(connection: Connection, steps: int) -> str:
    newest = select(runs.c.id).order_by(runs.c.created.desc(), runs.c.id.desc())
    run_id = connection.scalar(newest.offset(steps).limit(1))
    if run_id is not None:
        return str(run_id)
    count = connection.scalar(select(func.count()).select_from(runs)) or 0
    if not count:
        raise StoreError("the store has no runs yet")
    raise StoreError(f"no run 'last~{steps}': the store has {plural(count, 'run')}")


def find_case_hashes(connection: Connection, text: str) -> list[str]:
    """The hashes of one case, newest first: an edited case keeps its id and gets a new hash.

    An exact id or hash wins; then the beginning of a hash or of an id; then the name of a
    benchmark; then any part of an id; then an id as tables shorten it.
    Upper and lower case are the same unless the match is exact.
    """
    if not text:
        raise StoreError("name a case: its id, its hash, or a unique part of one")
    newest = select(cases.c.hash, cases.c.id).order_by(cases.c.first_seen.desc(), cases.c.hash)
    exact = newest.where(or_(cases.c.id == text, cases.c.hash == text))
    if rows := connection.execute(exact).all():
        return [row.hash for row in rows]
    for condition in _conditions(text):
        rows = connection.execute(newest.where(condition)).all()
        if only := _only(text, {row.id for row in rows}):
            return [row.hash for row in rows if row.id == only]
    known = _case_ids(connection)
    if only := _only(text, {id for id in known if shortens(text, id)}):
        return list(connection.scalars(newest.where(cases.c.id == only)))
    raise NotFound(_unknown_case(text, known))


def _conditions(text: str) -> Iterator[ColumnElement[bool]]:
    lower = text.lower()
    if len(text) >= SHORTEST_HASH_PREFIX:
        yield cases.c.hash.startswith(lower, autoescape=True)
    yield func.lower(cases.c.id).startswith(lower, autoescape=True)
    ids = func.lower(cases.c.id)  # SUITE/NAME[LABELS]/STAGE, or SUITE/NAME/STAGE
    yield or_(*(ids.contains(f"/{lower}{end}", autoescape=True) for end in "[/"))
    yield func.lower(cases.c.id).contains(lower, autoescape=True)


def _only(text: str, ids: set[str]) -> str | None:
    """The one id among them; raises where there are several."""
    if len(ids) > 1:
        raise StoreError(f"{text!r} matches {len(ids)} cases: {first_of(sorted(ids))}")
    return next(iter(ids), None)


def _case_ids(connection: Connection) -> list[str]:
    return list(connection.scalars(select(cases.c.id).distinct()))


def _unknown_case(text: str, ids: Sequence[str]) -> str:
    if not ids:
        return f"no case {text!r}: the store has no results yet"
    return f"no case {text!r} in the store{near_case(text, ids) or f'; it has {first_of(ids)}'}"


def near_case(text: str, ids: Sequence[str]) -> str:
    """`; did you mean …?`: a person remembers `linear`, not the whole id, so names are offered when
    no id is near."""
    return nearest(text, ids) or nearest(
        text, {re.split(r"[\[/]", id.split("/", 1)[-1])[0] for id in ids}
    )
