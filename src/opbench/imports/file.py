"""Reading a file of another tool, whichever it is, and putting it into a store as a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opbench import __version__, files
from opbench.case import Case
from opbench.errors import UserError, plural, printable
from opbench.imports import plain_pickle
from opbench.imports.formats import formats, tools
from opbench.imports.imported import Imported, Unreadable
from opbench.result import Result
from opbench.store import RunRecord, Store, StoreError

#: The first byte of a pickle of protocol 2 or later.
PICKLE = b"\x80"
GZIP = b"\x1f\x8b"
#: Bytes of a file, after it was unpacked: a hundred thousand results with their samples fit.
LARGEST = 1 << 29
#: Files of a folder that is imported whole.
MOST_FILES = 20_000

ENVIRONMENT = "imported"


@dataclass(frozen=True)
class Part:
    """One file of a run."""

    path: Path
    found: Imported
    digest: str


def read_file(path: Path) -> tuple[list[Imported], str]:
    """The runs that the file holds, and the digest of its content."""
    try:
        content = files.content(path, LARGEST)
        if content[:2] == GZIP:  # pyperf writes FILE.json.gz as well
            content = files.unzipped(content, path, LARGEST)
    except UserError as error:
        raise StoreError(str(error)) from None
    data = _pickled(path, content) if content[:1] == PICKLE else _json(path, content)
    for tool in formats():
        if tool.reads(data):
            try:
                found = tool.read(data, path)
            except Unreadable as error:
                # It may quote the file, which could steer a terminal.
                raise StoreError(f"{path}: {printable(str(error))}") from None
            digest = hashlib.sha256(content).hexdigest()
            return (found if isinstance(found, list) else [found]), digest
    raise StoreError(f"{path} is not a file of {tools()}")


def _pickled(path: Path, content: bytes) -> Any:
    try:
        return plain_pickle.loads(content)
    except plain_pickle.NotPlain as error:
        raise StoreError(f"{path}: not read, because it is not plain data: {error}") from None


def _json(path: Path, content: bytes) -> Any:
    """One value, or the list of those of a file with one on each line."""
    try:
        return json.loads(content)
    except RecursionError:
        pass
    except ValueError:
        try:
            lines = [json.loads(line) for line in content.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            lines = []
        if lines:
            return lines
    raise StoreError(
        f"{path} is not JSON, nor a pickle of protocol 2 or later; expected a file of {tools()}"
    )


def import_files(
    store: Store, paths: Sequence[Path], name: str = ""
) -> Iterator[tuple[RunRecord, list[Part]]]:
    """Every file as a run of its own, or with those that belong to the same run."""
    together: dict[object, list[Part]] = {}
    for path in _files(paths):
        runs, digest = read_file(path)
        for found in runs:
            if not found.pairs:
                raise StoreError(f"{path} holds no benchmarks")
            run = (found.tool, *found.part_of) if found.part_of else len(together)
            together.setdefault(run, []).append(Part(path, found, digest))
    for parts in together.values():
        record = parts[0].found.record
        restored = record is not None and _restore(store, parts[0], record, name)
        yield restored or _import(store, parts, name), parts


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found: list[Path] = []
        for tool in formats():
            if hasattr(tool, "files"):
                found += tool.files(path)
        if not found:
            raise StoreError(f"{path} holds no results of criterion or asv; name the files")
        if len(found) > MOST_FILES:
            raise StoreError(f"{path} holds {plural(len(found), 'file')}; import parts of it")
        yield from sorted(found)


def _restore(store: Store, part: Part, record: RunRecord, name: str) -> RunRecord:
    """A run of ours, as it was."""
    if any(run.id == record.id for run in store.runs()):
        raise StoreError(f"{part.path}: the store has run {record.id} already")
    record = replace(record, name=name or record.name)
    store.add_run(record, part.found.pairs)
    return record


def _import(store: Store, parts: Sequence[Part], name: str) -> RunRecord:
    """What was imported before is refused: the digests of the files are kept with the run."""
    for run in store.runs():
        digests = run.request.get("files")
        known = [run.request.get("sha256"), *(digests if isinstance(digests, list) else ())]
        for part in parts:
            if part.digest in known:
                raise StoreError(f"{part.path} was imported before, as run {run.id}")
    held = Counter(case_id for part in parts for case_id in {c.id for c, _ in part.found.pairs})
    if twice := next((case_id for case_id, count in held.items() if count > 1), None):
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
        name=name or first.found.name or stem,
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
        status="finished",
        finished=time.time(),
    )
    fingerprint = first.found.fingerprint
    place: dict[str, Any] = {
        "environment": ENVIRONMENT,
        "fingerprint": fingerprint,
        "created": created,
    }
    pairs = [(case, replace(r, **place)) for part in parts for case, r in part.found.pairs]
    store.add_run(record, _distinct(pairs), {fingerprint: first.found.environment})
    return record


def _distinct(pairs: Sequence[tuple[Case, Result]]) -> Iterator[tuple[Case, Result]]:
    """Every result under a key of its own: a tool may measure two things under one name."""
    seen: Counter[tuple[str, str]] = Counter()
    for case, result in pairs:
        seen[case.hash, result.metric] += 1
        again = seen[case.hash, result.metric]
        if again > 1:
            case = replace(case, name=f"{case.name} #{again}")
            result = replace(result, case_hash=case.hash)
        yield case, result
