"""Reading a file of another tool, whichever it is, and putting it into a store as a run."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
import zlib
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

from opbench import __version__
from opbench.imports import pyperf, pytest_benchmark
from opbench.imports.imported import Imported, Unreadable
from opbench.store import RunRecord, Store, StoreError

#: Adding a tool is adding its file, and naming it here.
TOOLS: tuple[ModuleType, ...] = (pytest_benchmark, pyperf)

ENVIRONMENT = "imported"


def read_file(path: Path) -> tuple[Imported, str]:
    """What the file holds, and the digest of its content."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":  # pyperf writes FILE.json.gz as well
            content = gzip.decompress(content)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except (EOFError, zlib.error):
        raise StoreError(f"{path} is a damaged gzip file") from None
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is not JSON, as pyperf and pytest-benchmark write it") from None
    for tool in TOOLS:
        if tool.reads(data):
            try:
                return tool.read(data), hashlib.sha256(content).hexdigest()
            except Unreadable as error:
                raise StoreError(f"{path}: {error}") from None
    raise StoreError(f"{path} is not a file of pyperf or pytest-benchmark")


def import_file(store: Store, path: Path, name: str = "") -> tuple[RunRecord, Imported]:
    """The same file twice is refused: its id comes from its content."""
    found, digest = read_file(path)
    if not found.pairs:
        raise StoreError(f"{path} holds no benchmarks")
    created = found.created or path.stat().st_mtime
    day = datetime.fromtimestamp(created, tz=timezone.utc)
    record = RunRecord(
        f"{day:%Y%m%d-%H%M%S}-{digest[:4]}",
        name=name or path.name.split(".")[0],
        created=created,
        version=__version__,
        commit=found.commit,
        command=f"opbench import {path.name}",
        machine=found.machine,
        request={"imported": found.tool, "sha256": digest},
    )
    for run in store.runs():
        if run.request.get("sha256") == digest:
            raise StoreError(f"{path} was imported before, as run {run.id}")
    store.begin_run(record)
    store.add_environment(found.fingerprint, found.environment)
    place: dict[str, Any] = {
        "environment": ENVIRONMENT,
        "fingerprint": found.fingerprint,
        "created": created,
    }
    pairs = [(case, replace(result, **place)) for case, result in found.pairs]
    store.add_results(record.id, pairs)
    store.finish_run(record.id)
    return replace(record, status="finished", finished=time.time()), found
