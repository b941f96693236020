"""Stores that were damaged, or made by somebody who means harm: one line, never a traceback, never
an endless wait, and nothing written."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import time
import tracemalloc
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from opbench.case import Case
from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, Store, StoreError
from opbench.store.connection import sqlite_file

#: Everything that reads a store and prints, but for the page.
READING = (
    ("runs", "--store"),
    ("compare", "one", "two", "--store"),
    ("history", "s/n[n=1,mode=x]/call", "--store"),
    ("export", "all", "-f", "json", "--store"),
    ("show", "s/n[n=1,mode=x]/call", "--store"),
    ("store", "check"),
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "sound.db"
    machine = {"cpu": {"model": "some"}, "git": {"commit": "abc", "dirty": False}}
    with Store.open(path) as store:
        for number, name in enumerate(("one", "two")):
            record = RunRecord(name, name, created=1e9 + number, machine=machine)
            store.begin_run(record)
            for n in range(5):
                case = Case("s", "n", "call", "pass", labels=(("n", n), ("mode", "x")))
                for metric, unit in (("time", "s"), ("memory", "B")):
                    samples = tuple(Sample(1 + i / 7, start=i, order=i) for i in range(6))
                    result = Result(
                        case.hash, metric, unit, estimate=1.5, low=1.4, high=1.6, samples=samples,
                        detail={"starts": 6, "components": {"a": 1}},
                        warnings=(Warning("drift", "it drifted"),), created=1e9 + n,
                    )  # fmt: skip
                    store.add_result(name, case, result)
            store.finish_run(name, "finished")
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def copy(sound, tmp_path):
    def make(*statements: str, name: str = "r.db") -> Path:
        path = tmp_path / name
        shutil.copy(sound, path)
        with closing(sqlite3.connect(path)) as raw:
            for statement in statements:
                raw.execute(statement)
            raw.commit()
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path

    return make


@pytest.fixture
def read_by_all(opbench_here):
    """Every reading command ends with an exit code; a traceback would fail the call itself."""

    def read(path: Path) -> list[tuple[str, int, str]]:
        done = [(words, opbench_here(*words, path)) for words in READING]
        for words, ended in done:
            assert ended.returncode in (0, 1, 2), (words, ended.stderr)
            assert "Traceback" not in ended.stderr + ended.stdout
        return [(words[0], ended.returncode, ended.stderr) for words, ended in done]

    return read


def test_a_sound_store_is_read_by_all(copy, read_by_all):
    ends = read_by_all(copy())
    assert [end for end in ends if end[1]] == []


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (("ALTER TABLE runs RENAME TO old", f"CREATE VIEW runs AS {ENDLESS}"), "a view 'runs'"),
        (
            ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM cases; END",),
            "a trigger 't'",
        ),
        (("CREATE VIRTUAL TABLE v USING fts5(x)",), "a virtual table 'v'"),
        (
            ("ALTER TABLE runs ADD COLUMN huge AS (hex(zeroblob(100000000)))",),
            "computes the column 'huge' of 'runs'",
        ),
        (("CREATE INDEX i ON runs (hex(name))",), "an index 'i' that computes"),
        (("CREATE INDEX i ON runs (name) WHERE length(name) > 1",), "an index 'i' that computes"),
    ],
)
def test_a_schema_that_computes_is_refused(copy, statements, said):
    path = copy(*statements)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught, Store.open(path, create=False) as store:
        store.runs()
    assert said in str(caught.value)
    assert path.read_bytes() == before


def test_a_signal_ends_a_query(copy):
    def interrupted(_signal, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        with closing(sqlite_file.connect(copy(), "mode=ro")) as connection:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                connection.execute(f"SELECT count(*) FROM ({ENDLESS})")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_conditions_in_a_schema_are_not_computed(copy, opbench_here):
    slow = " AND ".join(f"length(hex(zeroblob(30000000 + {i}))) > 0" for i in range(300))
    path = copy()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE (run_id', ?) "
            "WHERE name = 'results'",
            (f"CHECK ({slow}), UNIQUE (run_id",),
        )
        raw.execute("PRAGMA writable_schema = RESET")
    with closing(sqlite3.connect(path)) as raw:
        assert "zeroblob" in str(raw.execute("SELECT sql FROM sqlite_master").fetchall())
    began = time.process_time()
    assert opbench_here("store", "check", path).returncode == 0
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET machine = '[1, 2'",
        "UPDATE runs SET machine = '[]'",
        "UPDATE runs SET request = '" + "[" * 50_000 + "'",
        "UPDATE runs SET created = 1e300",
        "UPDATE runs SET created = 'yesterday'",
        "UPDATE runs SET created = -1e18",
        "UPDATE runs SET name = x'ff00'",
        "UPDATE cases SET source = '{}'",
        'UPDATE cases SET source = \'{"suite": 1, "name": [], "stage": null, "stmt": {}}\'',
        "UPDATE cases SET source = replace(source, '\"labels\":[', '\"labels\":[7,')",
        "UPDATE cases SET source = json_set(source, '$.labels', json('[[\"n\", {}]]'))",
        "UPDATE runs SET machine = json_set(machine, '$.cpu', 7)",
        'UPDATE runs SET machine = \'{"memory": {"total": "much"}}\'',
        "UPDATE runs SET request = '{\"targets\": 5}'",
        "UPDATE runs SET request = '{\"sides\": 5}'",
        'UPDATE runs SET request = \'{"sides": [5, [], [{}, {}]], "commits": 1}\'',
        "UPDATE environments SET facts = '7'",
        "UPDATE results SET detail = json_set(detail, '$.first_call', 5, '$.calls_per_block', 'x')",
        "UPDATE results SET estimate = 'much'",
        "UPDATE results SET estimate = 9e999",
        "UPDATE results SET detail = '[]'",
        "UPDATE results SET warnings = '[1]'",
        "UPDATE results SET outcome = x'00'",
        "UPDATE results SET metric = '' WHERE id = 1",
        "UPDATE results SET case_hash = 'nobody' WHERE id = 1",
        "UPDATE samples SET payload = x'00'",
        "UPDATE samples SET payload = 'text'",
        "DELETE FROM meta",
    ],
)
def test_rows_that_nobody_of_ours_wrote(copy, read_by_all, statement):
    ends = read_by_all(copy("PRAGMA foreign_keys = OFF", statement))
    for name, code, error in ends:
        if code == 2:
            assert error.count("\n") == 1, (name, error)


def bomb() -> bytes:
    """A megabyte that becomes 270."""
    engine = zlib.compressobj(1)
    spaces = b" " * (1 << 24)
    pieces = [engine.compress(b'{"value":[1')]
    pieces += [engine.compress(spaces) for _ in range(17)]
    return b"".join((*pieces, engine.compress(b"]}"), engine.flush()))


@pytest.mark.parametrize(
    "payload",
    [
        lambda: zlib.compress(b'{"value":["much"]}'),
        lambda: zlib.compress(b'{"start":[1]}'),
        lambda: zlib.compress(b"[]"),
        lambda: zlib.compress(b'{"value":' + b"[" * 100_000),
        bomb,
        lambda: zlib.compress(b'{"value":[' + b"1," * 40_000_000 + b"1]}"),
    ],
    ids=["text", "no values", "a list", "deep", "a bomb", "millions"],
)
def test_samples_that_nobody_of_ours_packed(copy, read_by_all, payload):
    path = copy()
    with closing(sqlite3.connect(path)) as raw:
        # Of the case that `show` and `history` are asked for alone: each bomb takes a second.
        times = "SELECT id FROM results WHERE metric = 'time' AND case_hash IN"
        case = "SELECT hash FROM cases WHERE id = 's/n[n=1,mode=x]/call'"
        changed = raw.execute(
            f"UPDATE samples SET payload = ? WHERE result_id IN ({times} ({case}))", (payload(),)
        )
        assert changed.rowcount == 2
        raw.commit()
    codes = {name: code for name, code, _ in read_by_all(path)}
    assert codes["compare"] == 2
    assert codes["store"] == 1


def test_more_samples_than_any_result_has_are_not_made(monkeypatch):
    from opbench.store import payload

    monkeypatch.setattr(payload, "MOST_SAMPLES", 20_000)

    text = b'{"value":[' + b"1," * payload.MOST_SAMPLES
    assert len(payload.unpack(zlib.compress(text[:-1] + b"]}"))) == payload.MOST_SAMPLES
    with pytest.raises(ValueError, match="more than 20,000 samples"):
        payload.unpack(zlib.compress(text + b"1]}"))
    packed = zlib.compress(text + b"1," * 19 * payload.MOST_SAMPLES + b"1]}")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 20,000 samples"):
            payload.unpack(packed)
        assert tracemalloc.get_traced_memory()[1] < 3e6, "four hundred thousand of them"
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(8))
def test_bytes_changed_at_random(copy, read_by_all, seed):
    path = copy()
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 3, 30))):
        content[rng.randrange(100, len(content))] = rng.randrange(256)
    path.write_bytes(content)
    read_by_all(path)


def test_what_sqlite_says_of_a_damaged_file_need_not_be_text(copy, read_by_all):
    """The name of an index, in SQLite's own complaint about it."""
    path = copy()
    name, broken = b"ix_results_case_metric", b"ix_results_\xb0\xff\xfe\xb0_metric"
    path.write_bytes(path.read_bytes().replace(name, broken))
    read_by_all(path)
