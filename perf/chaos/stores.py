"""Stores damaged at random bytes, and stores made to harm, read by every command that reads one."""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

#: Every command that reads a store. The store's path follows; pages and charts go to the folder in
#: which the command runs, which is empty.
READING = (
    ("runs", "--store"),
    ("compare", "r0", "r1", "--store"),
    ("compare", "r0", "r1", "--functions", "--store"),
    ("history", "n[n=1]", "--store"),
    ("export", "all", "-f", "json", "--store"),
    ("export", "all", "-f", "csv", "--store"),
    ("show", "n[n=1]", "--store"),
    ("show", "n[n=1]", "--script", "--store"),
    ("show", "n[n=1]", "--functions", "--store"),
    ("report", "last", "-o", "page.html", "--store"),
    ("report", "layers", "--store"),
    ("report", "ops", "--store"),
    ("report", "roofline", "--store"),
    ("report", "sweep", "--chart", "chart.json", "--store"),
    ("run", "--cont", "--dry-run", "--store"),
    ("store", "check"),
    ("store", "copy", "copy.db"),  # the store's path stands before the last word
)
#: Starts an engine that draws, which takes longer than all of the above.
DRAWING = (("report", "sweep", "--store"),)
#: Seconds of one command, and memory that it may add.
MOST_SECONDS = 30.0
MOST_BYTES = 512 << 20
#: What those commands write, in the folder where they run.
WRITTEN = (".opbench", "copy.db", "page.html")

BENCH = """
import opbench as ob

@ob.bench(n=[1, 2])
def n(n):
    sum(range(n))
"""
MODEL = """
import torch

class Model(torch.nn.Linear):
    def __init__(self, hidden):
        super().__init__(hidden, hidden)
"""
SWEEP = """
model = "model.py:Model"
model_init_params = ["hidden"]
input_params = [["tokens", "hidden"]]
input_scales = {tokens = [2, 4], hidden = [8]}

[[job_configs]]
dtype = "fp32"
runtime = "pt"
"""

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
DETAIL = "UPDATE results SET detail = json_set(detail,"
SOURCE = "UPDATE cases SET source = json_set(source,"
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
    "UPDATE runs SET id = '../../x' WHERE 'r1' IN (id, name)",
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
    "UPDATE samples SET payload = zeroblob(100000000) WHERE result_id = 1",
    "UPDATE samples SET payload = randomblob(1000)",
    "DELETE FROM cases",
    "DELETE FROM samples",
    "DELETE FROM runs WHERE 'r0' IN (id, name)",
    f"{DETAIL} '$.first_call', 'soon', '$.calls_per_block', 7, '$.seconds', 'x')",
    f"{DETAIL} '$.functions', 'AAAA', '$.calls', -1)",
    f"{DETAIL} '$.layout', json('[[]]'), '$.within', 'x', '$.between', json('{{}}'), '$.way', 5)",
    f"{SOURCE} '$.labels', json('[[\"n\", {{}}]]'))",
    f"{SOURCE} '$.suite', 'layers')",
    f"{SOURCE} '$.suite', 'ops', '$.name', 'relu')",
    f"{SOURCE} '$.suite', 'sweeps')",
    f"{SOURCE} '$.suite', 'peaks')",
    'UPDATE runs SET machine = \'{"cpu": 7, "git": "x", "system": [], "fleet": 3}\'',
    'UPDATE runs SET policy = \'{"precision": []}\', request = \'{"targets": 5, "axes": 3}\'',
    "UPDATE environments SET facts = '7'",
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


def sound(folder: Path) -> Path:
    """A store of a few real results of each suite that has a report, and of two runs."""
    from opbench.store import Store

    path = folder / "seed.db"
    (folder / "model.py").write_text(MODEL)
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "s.py").write_text(BENCH)
    quick = ("--num-runs", "1", "--num-repeats", "2", "--store", str(path))
    for words in (
        ("s.py", "--name", "r0", "--metric", "time,instructions" if _counts() else "time"),
        ("s.py", "--name", "r1", "--metric", "time,instructions" if _counts() else "time"),
        ("layers", "-a", "layer=linear", "-a", "batch_size=2", "--name", "layers"),
        ("ops", "-k", "relu", "--name", "ops"),
        ("sweep.toml", "--name", "sweep"),
    ):
        command = [sys.executable, "-m", "opbench", "run", *words, *quick]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    with Store.open(path) as store:
        assert len(store.runs()) == 5
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def warm(path: Path) -> None:
    """Import what the commands import, so that every process forked from this one has it."""
    with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
        for words in READING:  # what draws does not survive a fork
            _in_process(words, path, Path(folder))


def _counts() -> bool:
    return shutil.which("valgrind") is not None


def faults(path: Path, reading: Sequence[tuple[str, ...]] = READING) -> list[str]:
    """What is wrong with how each command reads the store, each in a process of its own."""
    found = []
    around = _entries(path.parent)
    outside = _entries(path.parent.parent)
    for words in reading:
        with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
            work = Path(folder) / "here"
            work.mkdir()
            found += [f"{' '.join(words[:2])}: {each}" for each in _reads(words, path, work)]
            new = _entries(Path(folder)) - {"here"}
            found += [f"{words[0]} wrote outside: {name}" for name in sorted(new)]
            found += [
                f"{' '.join(words)} wrote {name!r}"
                for name in sorted(_entries(work))
                if not name.startswith(WRITTEN) and words[:2] != ("report", "sweep")
            ]
    new = _entries(path.parent) - around - {path.name + end for end in ("-wal", "-shm")}
    new |= _entries(path.parent.parent) - outside
    return found + [f"wrote {name}" for name in sorted(new)]


def _in_process(words: tuple[str, ...], path: Path, work: Path) -> None:
    from opbench.cli.main import exit_code

    before, output = os.getcwd(), io.StringIO()
    os.chdir(work)
    try:
        with (
            patch.object(sys, "argv", _words(words, path)),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            exit_code()
    finally:
        os.chdir(before)


def _words(words: tuple[str, ...], path: Path) -> list[str]:
    copies = words[:2] == ("store", "copy")
    last = (str(path), words[-1]) if copies else (words[-1], str(path))
    return ["opbench", *words[:-1], *last]


def _reads(words: tuple[str, ...], path: Path, work: Path) -> list[str]:
    """What is wrong with how one command reads the store."""
    output = work.parent / "output"
    pid = os.fork()
    if pid == 0:
        _command(_words(words, path), work, output)  # does not return
    deadline = time.monotonic() + MOST_SECONDS
    while True:
        ended, status, used = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            output.unlink(missing_ok=True)
            return [f"it took over {MOST_SECONDS:g} s"]
        time.sleep(0.002)
    said = output.read_text(errors="replace") if output.exists() else ""
    output.unlink(missing_ok=True)
    found = []
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 2):
        found.append(f"exit code {code}: {said[-200:]}")
    if "Traceback" in said:
        found.append(said.strip().splitlines()[-1][:200])
    if "\x1b" in said or "\x07" in said:
        found.append("a control character")
    added = used.ru_maxrss * 1024 - resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if added > MOST_BYTES:
        found.append(f"{added >> 20} MiB")
    return found


def _command(words: list[str], work: Path, output: Path) -> None:
    """Carry the command out in this forked process, as its own would."""
    from opbench.cli.main import main

    code = 70
    try:
        os.chdir(work)
        sys.argv = words
        stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, source in ((0, null), (1, stream), (2, stream)):
            os.dup2(source, number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
    finally:
        for each in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                each.flush()
        os._exit(code)


def _entries(folder: Path) -> set[str]:
    return set(os.listdir(folder))
