"""Files that are written: whole or not at all, and under names that stay in their folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opbench import children
from opbench.errors import UserError

#: Bytes; longer names are cut: file systems take 255, and something is added in front and behind.
LONGEST = 150


def expanded(text: str | Path) -> Path:
    """A path that a person wrote, `~` and `~user` included."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UserError(f"{text}: no such user, or a user without a home folder") from None


def make_folder(path: Path) -> None:
    with _explained(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Where to write what will be at `path` once the block has ended; after a failure nothing has
    changed. What the system refuses is one line."""
    # A device or a pipe (`-o /dev/null`) is written to, not replaced; a link stays one.
    special = path.exists() and not path.is_file()
    target = path if special else path.resolve()
    partial = target if special else target.with_name(f".{target.name}.{os.getpid()}")
    if not special:
        children.remove_at_end(partial)
    try:
        with _explained(path):
            yield partial
            if not special:
                partial.replace(target)
    finally:
        if not special:
            partial.unlink(missing_ok=True)


def component(name: str) -> str:
    """A name from data as one component of a path: no folder, no hidden file, no control
    character, never another file's name by accident."""
    plain = re.sub(r"[^\w.,=+\-\[\]() ]", "_", name).strip(". ")
    plain = plain.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")
    if plain and plain == name:
        return name
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
