"""Stores damaged at random bytes, and stores made to harm, read by every command that reads one."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

READING = (
    ("runs", "--store"),
    ("compare", "r0", "r1", "--store"),
    ("history", "s/n[n=1]/call", "--store"),
    ("export", "all", "-f", "json", "--store"),
    ("show", "s/n[n=1]/call", "--store"),
    ("store", "check"),
)
MOST_SECONDS = 10.0

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
ESCAPE = "char(27) || '[2J' || char(7)"

#: What somebody may do to a store with SQL.
HOSTILE = (
    f"ALTER TABLE runs RENAME TO old; CREATE VIEW runs AS {ENDLESS}",
    f"ALTER TABLE results RENAME TO old; CREATE VIEW results AS {ENDLESS}",
    "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM cases; END",
    "ALTER TABLE runs ADD COLUMN huge AS (hex(zeroblob(100000000)))",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "UPDATE runs SET machine = '['",
    "UPDATE runs SET request = replace(hex(zeroblob(50000)), '00', '[')",
    "UPDATE runs SET created = 1e300",
    "UPDATE runs SET created = -62167219200",
    "UPDATE runs SET created = 'soon'",
    "UPDATE runs SET status = 'x'",
    f"UPDATE runs SET name = {ESCAPE}, command = {ESCAPE}",
    "UPDATE runs SET id = '../../x' WHERE id = 'r1'",
    "UPDATE cases SET source = '{}'",
    "UPDATE cases SET source = '[1]'",
    "UPDATE cases SET source = NULL",
    "UPDATE cases SET source = json_set(source, '$.name', '../../../../tmp/evil')",
    "UPDATE cases SET source = json_set(source, '$.labels', 7)",
    "UPDATE cases SET source = json_set(source, '$.threads', 1e300)",
    f"UPDATE cases SET id = {ESCAPE}",
    "UPDATE results SET estimate = 9e999",
    "UPDATE results SET estimate = 'fast'",
    "UPDATE results SET estimate = -1, low = 5, high = -5",
    "UPDATE results SET estimate = NULL",
    "UPDATE results SET n_samples = 1000000000",
    "UPDATE results SET outcome = 'fine'",
    "UPDATE results SET detail = '{\"starts\": {}}'",
    "UPDATE results SET detail = NULL",
    "UPDATE results SET warnings = '[[1]]'",
    "UPDATE results SET unit = x'ff'",
    f"UPDATE results SET reason = {ESCAPE}, outcome = 'failed'",
    "UPDATE results SET created = 1e300",
    "UPDATE samples SET payload = x''",
    "UPDATE samples SET payload = zeroblob(100000000)",
    "UPDATE samples SET payload = randomblob(1000)",
    "DELETE FROM cases",
    "DELETE FROM samples",
    "DELETE FROM runs WHERE id = 'r0'",
    "DROP TABLE meta",
    "UPDATE meta SET value = '99'",
)


def damaged(sound: bytes, rng: random.Random) -> bytes:
    """The bytes of a store after a few of them have changed, or the file was cut."""
    content = bytearray(sound)
    if rng.random() < 0.1:
        del content[rng.randrange(100, len(content)) :]
    for _ in range(rng.choice((1, 4, 32))):
        place = rng.randrange(100, len(content))
        length = rng.choice((1, 1, 8, 200))
        content[place : place + length] = rng.randbytes(min(length, len(content) - place))
    return bytes(content)


def hostile(sound: Path, statements: str, path: Path) -> None:
    shutil.copy(sound, path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        with contextlib.suppress(sqlite3.Error):  # refused by SQLite itself
            raw.executescript(statements)
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def faults(path: Path) -> list[str]:
    """What is wrong with how each command reads the store, in this process."""
    from opbench.cli.main import exit_code

    found = []
    around = _entries(path.parent)
    for words in READING:
        output, began = io.StringIO(), time.monotonic()
        with (
            patch.object(sys, "argv", ["opbench", *words, str(path)]),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            try:
                code = exit_code()
            except BaseException as error:  # what would have been a traceback
                found.append(f"{words[0]}: {type(error).__name__}: {error}"[:200])
                continue
        if code not in (0, 1, 2):
            found.append(f"{words[0]}: exit code {code}")
        if time.monotonic() - began > MOST_SECONDS:
            found.append(f"{words[0]}: {time.monotonic() - began:.0f} s")
    new = _entries(path.parent) - around - {path.name + end for end in ("-wal", "-shm")}
    return found + [f"wrote {name}" for name in sorted(new)]


def _entries(folder: Path) -> set[str]:
    return set(os.listdir(folder))
