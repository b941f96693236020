"""Files that are read, within bounds; and files that are written: whole or not at all, and under
names that stay in their folder."""

from __future__ import annotations

import hashlib
import io
import os
import re
import select
import stat
import tempfile
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opbench import children
from opbench.errors import UserError

#: Bytes; longer names are cut: file systems take 255, and something is added in front and behind.
LONGEST = 150
#: Of a file that is read as a whole: configs, run files, results of other tools. What they hold
#: takes some ten times as much memory as JSON.
MOST_BYTES = 32 << 20
#: How the file of a store begins.
SQLITE = b"SQLite format 3\0"
#: What writes into a pipe is running already.
PIPE_SECONDS = 2.0

#: The files that this process has open as databases, and how often.
_databases: Counter[tuple[int, int]] = Counter()
#: While it is held, no database is opened: what is none now may be looked into.
database_lock = threading.RLock()


def identity(path: Path) -> tuple[int, int]:
    """Of the file, whatever its name: the device it is on, and its number there."""
    found = path.stat()
    return found.st_dev, found.st_ino


def hold_database(file: tuple[int, int], times: int = 1) -> None:
    """A connection to this file was opened, or one was closed (-1)."""
    _databases[file] += times


def is_open_database(path: Path) -> bool:
    """Whether this process has the file open as a database, so that nobody here may open it in
    another way. The system gives up all locks of a process on a file when the process closes any
    descriptor of it; another process then takes itself for the last one to use the database, and
    removes the log that is being written to."""
    try:
        return _databases[identity(path)] > 0
    except OSError:
        return False


def expanded(text: str | Path) -> Path:
    """A path that a person wrote, `~` and `~user` included."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UserError(f"{text}: no such user, or a user without a home folder") from None


def content(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a file holds, or one line on why it is not read: it is too large, or gives nothing.

    A pipe, as in `--config <(make_config)`, is read too; one that nobody writes to is not waited
    for.
    """
    if is_open_database(path):
        raise UserError(f"{path} is a store, and open: it is not read as a file")
    try:
        # Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
        with open(path, "rb", buffering=0, opener=_without_waiting) as stream:
            _check_size(path, os.fstat(stream.fileno()), most)
            found = _pieces(stream, most)
    except FileNotFoundError:
        raise UserError(f"file not found: {path}") from None
    except TimeoutError:
        raise UserError(f"cannot read {path}: nothing is written to this pipe") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {why}") from None
    if len(found) > most:
        raise _too_large(path, most)
    return found


def _check_size(path: Path, status: os.stat_result, most: int) -> None:
    """Refuse what can be seen to be too large before any of it is in memory."""
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise UserError(f"{path} is a device, which is not read")
    if status.st_size > most:
        raise _too_large(path, most)


def _too_large(path: Path, most: int, when: str = "") -> UserError:
    return UserError(f"{path} is larger than {most >> 20} MiB{when}, which is not read")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _pieces(stream: io.FileIO, most: int) -> bytes:
    """All of a file, or a little more than `most` bytes of it."""
    pieces, size = [], 0
    while size <= most:
        piece = stream.read(1 << 20)
        if piece is None or (not piece and not size and _is_pipe(stream.fileno())):
            if not select.select([stream], [], [], PIPE_SECONDS)[0]:
                raise TimeoutError
            piece = stream.read(1 << 20)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _is_pipe(descriptor: int) -> bool:
    return stat.S_ISFIFO(os.fstat(descriptor).st_mode)


def text(path: Path, most: int = MOST_BYTES) -> str:
    """The same of a text file, without the mark that spreadsheets put in front of UTF-8."""
    try:
        return content(path, most).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not text in UTF-8") from None


def unzipped(packed: bytes, path: Path, most: int = MOST_BYTES) -> bytes:
    """What a gzip file holds: a few bytes of one can stand for gigabytes."""
    unpacker, size, left = zlib.decompressobj(wbits=31), 0, packed
    try:
        while size <= most:  # counted first, and kept only when it is small enough
            piece = unpacker.decompress(left, 1 << 20)
            size, left = size + len(piece), unpacker.unconsumed_tail
            if not piece:
                break
        if size > most:
            raise _too_large(path, most, " when unpacked")
        if not unpacker.eof:
            raise UserError(f"{path} is a damaged gzip file")
        return zlib.decompressobj(wbits=31).decompress(packed)
    except zlib.error:
        raise UserError(f"{path} is a damaged gzip file") from None


def check_regular(path: Path) -> None:
    """Refuse pipes and devices, where reading may never end, and a name that cannot be stored as
    text; a missing file is no concern here."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{path.name!a}: a file name must be text in UTF-8") from None
    if any(unicodedata.category(sign) == "Cc" for sign in path.name):
        # Names of files stand in ids, which are printed one on a line.
        raise UserError(f"{path.name!a}: a file name must be without control characters")
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UserError(f"{path} is not a regular file")


def make_folder(path: Path) -> None:
    with _explained(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def check_writable(path: Path) -> None:
    """Raise where `writing` could not write, before the work is done whose result is written."""
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    with _explained(path):
        if path.exists() and not path.is_file():
            return  # a device or a pipe
        _check_no_database(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent, prefix=".opbench-"):
            pass


def _check_no_database(path: Path) -> None:
    """No file that we write takes the place of a database."""
    held = is_open_database(path)
    try:
        found = SQLITE if held else _beginning(path, len(SQLITE))
    except FileNotFoundError:
        return
    if found == SQLITE:
        raise UserError(f"{path} is a database, which is not overwritten: name another file")


def _beginning(path: Path, count: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(count)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Where to write what will be at `path` once the block has ended; after a failure nothing has
    changed. What the system refuses is one line."""
    # A device or a pipe (`-o /dev/null`) is written to, not replaced; a link stays one.
    with _explained(path):
        special = path.exists() and not path.is_file()
        target = path if special else Path(os.path.realpath(path))
    if target.is_symlink():
        raise UserError(f"cannot write {path}: it is a link that leads to itself; remove it")
    partial = target
    if not special:
        with _explained(path):
            _check_no_database(target)
        shortened = target.name.encode("utf-8", "surrogateescape")[:LONGEST]
        partial = target.with_name(f".{os.fsdecode(shortened)}.{os.getpid()}")
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
