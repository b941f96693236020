"""What is not a store of ours is refused with one clear line, and stays as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoreError
from opbench.store.connection.sqlite_file import QUICK_CHECK_BYTES


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(path: Path, said: str, create: bool = True) -> None:
    folder = path.parent
    before = listing(folder), path.stat().st_mtime_ns
    with pytest.raises(StoreError) as caught:
        Store.open(path, create=create)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (listing(folder), path.stat().st_mtime_ns) == before


def filled(path: Path, results: int = 40) -> Path:
    from opbench.case import Case

    case = Case("s", "n", "call", "pass")
    with Store.open(path) as store:
        store.begin_run(RunRecord("r"))
        for number in range(results):
            samples = tuple(Sample(number + i / 7) for i in range(50))
            store.add_result("r", case, Result(case.hash, f"m{number}", "s", samples=samples))
    return path


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("create", [True, False])
def test_another_programs_database(tmp_path, journal, create):
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"PRAGMA journal_mode = {journal}")
        theirs.execute("CREATE TABLE customers (id)")
        theirs.execute("CREATE TABLE meta (key, value)")
        theirs.commit()
    assert_refused(path, "another program's database (its tables: customers, meta)", create)


def test_another_programs_database_with_a_live_log(tmp_path):
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("PRAGMA journal_mode = wal")
        theirs.execute("CREATE TABLE customers (id)")
        theirs.commit()
        assert_refused(path, "another program's database")


def test_a_text_file(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("buy milk\n" * 100)
    assert_refused(path, "is not an SQLite database")


def test_an_empty_file(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    assert_refused(path, "is an empty file, not an opbench store")


def test_a_folder(tmp_path):
    path = tmp_path / "folder.db"
    path.mkdir()
    assert_refused(path, "is not a file")


@pytest.mark.parametrize("left", [50, 5000, 20_000])
def test_a_store_that_was_cut_short(tmp_path, left):
    path = filled(tmp_path / "results.db")
    os.truncate(path, left)
    assert_refused(path, "is cut short")


def test_a_store_with_overwritten_pages(tmp_path):
    path = filled(tmp_path / "results.db")
    content = bytearray(path.read_bytes())
    assert len(content) < QUICK_CHECK_BYTES
    content[8192 : 8192 + 4096 * 8] = os.urandom(4096 * 8)
    path.write_bytes(content)
    assert_refused(path, "is damaged")


def test_a_store_of_a_newer_version(tmp_path):
    path = filled(tmp_path / "results.db", results=1)
    with closing(sqlite3.connect(path)) as later:
        later.execute("PRAGMA user_version = 99")
        later.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        later.commit()
    assert_refused(path, "was written by a newer opbench (schema 99; this one knows 3)")


def test_the_meta_table_names_application_and_version(store):
    with closing(sqlite3.connect(store.path)) as raw:
        found = dict(raw.execute("SELECT key, value FROM meta"))
        (journal,) = raw.execute("PRAGMA journal_mode").fetchone()
    assert found == {"application": "opbench", "schema_version": "3"}
    assert journal == "wal"


def test_a_missing_store_is_made_only_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"there is no store at \.opbench/results\.db"):
        Store.open(create=False)
    assert list(tmp_path.iterdir()) == []
    with Store.open() as made:
        assert made.path == Path(".opbench/results.db")
    assert [path.name for path in Path(".opbench").iterdir()] == ["results.db"]


def test_a_mistyped_folder_leaves_no_tree_behind(tmp_path):
    with pytest.raises(StoreError, match=r"cannot create the store .*No such file or directory"):
        Store.open(tmp_path / "reslts" / "2026" / "results.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("results", "expected a path ending in .db"),
        (3, "the store is not an object of type int: expected a path ending in .db"),
        ("sqlite://", "would forget its results"),
        ("sqlite:///:memory:", "would forget its results"),
        ("mysql://me:secret@host/x", "'mysql' are not supported"),
        ("postgresql://me:secret@host:port/x", "not understood"),
    ],
)
def test_an_address_that_is_not_understood(where, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        Store.open(where)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_one_line_without_the_password():
    with pytest.raises(StoreError) as caught:
        # Port 1 answers nobody; without the driver, the line says how to get it.
        Store.open("postgresql://me:secret@127.0.0.1:1/results?sslpassword=secret")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_driver_that_cannot_be_loaded_is_one_line():
    """As where psycopg has no library: here it is to take one that there is not."""
    done = subprocess.run(
        [sys.executable, "-m", "opbench", "runs", "--store", "postgresql://127.0.0.1:1/results"],
        env={**os.environ, "PSYCOPG_IMPL": "nonsense"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'opbench[postgres]'" in done.stderr
    assert done.stderr.count("\n") == 1


@contextmanager
def ordinary_user():
    """Root may write anywhere: step down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shown_folder():
    folder = Path(tempfile.mkdtemp(prefix="opbench-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_can_be_read_and_not_written(shown_folder):
    path = filled(shown_folder / "results.db", results=3)
    path.chmod(0o444)
    shown_folder.chmod(0o555)
    before = listing(shown_folder)
    with ordinary_user():
        with pytest.raises(StoreError, match="is read-only"):
            Store.open(path)
        with pytest.raises(StoreError, match=r"cannot create the store .*Permission denied"):
            Store.open(shown_folder / "other.db")
        with pytest.raises(StoreError, match=r"cannot create the store .*Permission denied"):
            Store.open(shown_folder / "sub" / "other.db")
        with Store.open(path, create=False) as store:
            assert len(store.results(samples=True)) == 3
            with pytest.raises(StoreError, match="is read-only"):
                store.finish_run("r")
    assert listing(shown_folder) == before


def test_a_full_disk_keeps_what_was_finished_and_says_so(store, run, make_case):
    case = make_case()
    # A limit on the pages gives the very error of a full disk.
    store.close()

    @event.listens_for(store._database.engine, "connect")
    def limit(connection, record):
        connection.execute("PRAGMA max_page_count = 40")

    finished = []

    def fill():
        for number in range(500):
            samples = tuple(Sample(number + i / 7) for i in range(100))
            store.add_result(run.id, case, Result(case.hash, f"m{number}", "s", samples=samples))
            finished.append(number)

    with pytest.raises(StoreError, match=r"disk is full.*results finished before this are safe"):
        fill()
    assert finished
    assert len(store.results(samples=True)) == len(finished)
    store.close()
    with Store.open(store.path) as again:
        assert len(again.results(samples=True)) == len(finished)


def test_a_store_deleted_meanwhile_does_not_come_back_empty(store, run):
    store.close()
    store.path.unlink()
    with pytest.raises(StoreError, match="cannot read"):
        store.runs()
    assert not store.path.exists()


def test_damaged_samples_are_named(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, Result(case.hash, "m", "s", samples=(Sample(1.0),)))
    with closing(sqlite3.connect(store.path)) as raw:
        raw.execute("UPDATE samples SET payload = x'00'")
        raw.commit()
    assert len(store.results()) == 1
    with pytest.raises(StoreError, match="the samples of result 1 are damaged"):
        store.results(samples=True)
