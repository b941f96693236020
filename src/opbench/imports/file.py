"""Reading a file of another tool, whichever it is, and putting it into a store as a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

from opbench import __version__, files
from opbench.imports import opacus, plain_pickle, pyperf, pytest_benchmark
from opbench.imports.imported import Imported, Unreadable
from opbench.store import RunRecord, Store, StoreError

#: Adding a tool is adding its file, and naming it here.
TOOLS: tuple[ModuleType, ...] = (pytest_benchmark, pyperf, opacus)
KNOWN = "pyperf, pytest-benchmark or the Opacus layer benchmarks"
#: The first byte of a pickle of protocol 2 or later.
PICKLE = b"\x80"

ENVIRONMENT = "imported"


@dataclass(frozen=True)
class Part:
    """One file of a run."""

    path: Path
    found: Imported
    digest: str


def read_file(path: Path) -> tuple[Imported, str]:
    """What the file holds, and the digest of its content."""
    content = files.content(path)
    if content[:2] == b"\x1f\x8b":  # pyperf writes FILE.json.gz as well
        content = files.unzipped(content, path)
    data = _pickled(path, content) if content[:1] == PICKLE else _json(path, content)
    for tool in TOOLS:
        if tool.reads(data):
            try:
                return tool.read(data), hashlib.sha256(content).hexdigest()
            except Unreadable as error:
                raise StoreError(f"{path}: {error}") from None
    raise StoreError(f"{path} is not a file of {KNOWN}")


def _pickled(path: Path, content: bytes) -> Any:
    try:
        return plain_pickle.loads(content)
    except plain_pickle.NotPlain as error:
        raise StoreError(f"{path}: not read, because it is not plain data: {error}") from None


def _json(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is not JSON, nor a pickle; expected a file of {KNOWN}") from None


def import_files(
    store: Store, paths: Sequence[Path], name: str = ""
) -> Iterator[tuple[RunRecord, list[Part]]]:
    """Every file as a run of its own, or with those that belong to the same run."""
    together: dict[object, list[Part]] = {}
    for number, path in enumerate(paths):
        found, digest = read_file(path)
        if not found.pairs:
            raise StoreError(f"{path} holds no benchmarks")
        run = (path.parent, found.part_of) if found.part_of else number
        together.setdefault(run, []).append(Part(path, found, digest))
    for parts in together.values():
        yield _import(store, parts, name), parts


def _import(store: Store, parts: Sequence[Part], name: str) -> RunRecord:
    """What was imported before is refused: the digests of the files are kept with the run."""
    for run in store.runs():
        known = {run.request.get("sha256"), *run.request.get("files", ())}
        for part in parts:
            if part.digest in known:
                raise StoreError(f"{part.path} was imported before, as run {run.id}")
    places = [case.id for part in parts for case in dict(part.found.pairs)]
    if twice := next((each for each in places if places.count(each) > 1), None):
        raise StoreError(f"two of the files hold {twice}; import them one by one")
    first = parts[0]
    single = len(parts) == 1
    stem = first.path.name.split(".")[0] if single else first.path.absolute().parent.name
    created = max(part.found.created or part.path.stat().st_mtime for part in parts)
    digest = hashlib.sha256("".join(sorted(p.digest for p in parts)).encode()).hexdigest()
    digest = first.digest if single else digest
    day = datetime.fromtimestamp(created, tz=timezone.utc)
    record = RunRecord(
        f"{day:%Y%m%d-%H%M%S}-{digest[:4]}",
        name=name or stem,
        created=created,
        version=__version__,
        commit=first.found.commit,
        command=f"opbench import {first.path.name}" + ("" if single else " …"),
        machine=first.found.machine,
        request={
            "imported": first.found.tool,
            "sha256": digest,
            "files": [part.digest for part in parts],
        },
    )
    store.begin_run(record)
    fingerprint = first.found.fingerprint
    store.add_environment(fingerprint, first.found.environment)
    place: dict[str, Any] = {
        "environment": ENVIRONMENT,
        "fingerprint": fingerprint,
        "created": created,
    }
    pairs = [(case, replace(r, **place)) for part in parts for case, r in part.found.pairs]
    store.add_results(record.id, pairs)
    store.finish_run(record.id)
    return replace(record, status="finished", finished=time.time())
