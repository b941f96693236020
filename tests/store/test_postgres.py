"""A real PostgreSQL server as a store: the same results, the same errors in one line."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from sqlalchemy import text

from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoreError
from opbench.store.checking import check
from opbench.store.connection.address import parse_address
from opbench.store.connection.database import Database, upgrade
from opbench.store.connection.masking import without_password
from opbench.store.copying import all_runs, copy
from opbench.store.migrations import FOLDER
from opbench.store.tables import SCHEMA_VERSION, metadata


def case(name: str = "n") -> Case:
    return Case("s", name, "call", "pass", labels=(("n", 1), ("x", 0.5)))


def fill(where: str, run_id: str = "r", results: int = 5) -> None:
    with Store.open(where) as store:
        store.begin_run(
            RunRecord(run_id, name="nightly", created=float(len(run_id)), machine={"cpu": {}})
        )
        store.add_environment("f" * 16, {"machine": {"model": "X"}})
        for number in range(results):
            one = case(f"n{number % 3}")
            samples = tuple(Sample(number + i / 7, start=i % 3, order=i) for i in range(20))
            result = Result(
                one.hash, f"m{number}", "s", estimate=number / 3, low=math.nan, samples=samples,
                fingerprint="f" * 16, detail={"nul": "a\0b"}, reason="a\0b",
            )  # fmt: skip
            assert store.add_result(run_id, one, result)
        store.finish_run(run_id)


def everything(where: str) -> list:
    with Store.open(where, create=False) as store:
        found = store.results(samples=True)
    return sorted(
        (s.run_id, s.case.id, s.result.metric, s.result.estimate, str(s.result.low),
         s.result.reason, s.result.samples, s.result.node, s.result.detail["nul"])
        for s in found
    )  # fmt: skip


def test_what_was_stored_comes_back(url):
    fill(url)
    with Store.open(url, create=False) as store:
        assert store.find_run("nightly").status == "finished"
        assert store.tally() == {"r": {"ok": 5}}
        assert not store.add_result("r", case("n0"), store.results(metric="m0")[0].result)
        assert store.environment("f" * 16) == {"machine": {"model": "X"}}
        found = store.history(case_id="s/n0[n=1,x=0.5]/call", metric="m0")
        assert [len(rows) for rows in found.rows.values()] == [1]
    assert [row[2] for row in everything(url)] == ["m0", "m3", "m1", "m4", "m2"]
    assert len(everything(url)[0][6]) == 20


def test_many_results_are_stored_in_one_go_and_replaced_by_key(url):
    with Store.open(url) as store:
        store.begin_run(RunRecord("r", created=1.0))
        one = case()
        pairs = [
            (one, Result(one.hash, f"m{i}", "s", samples=(Sample(float(i)),))) for i in range(300)
        ]
        assert store.add_results("r", [*pairs, pairs[0]]) == 300
        assert store.add_results("r", pairs) == 0
        again = Result(one.hash, "m7", "s", samples=(Sample(70.0), Sample(71.0)))
        assert store.add_result("r", one, again, replace=True)
        assert [s.value for s in store.results(metric="m7", samples=True)[0].result.samples] == [
            70,
            71,
        ]
        with pytest.raises(StoreError, match="the store has no run nowhere"):
            store.add_results("nowhere", pairs[:2])
        with pytest.raises(StoreError, match="the store has no run nowhere"):
            store.add_result("nowhere", *pairs[0])


@pytest.mark.parametrize("kind", ["file", "server"])
def test_a_group_is_stored_by_as_many_nodes_as_asked_for(kind, request, tmp_path):
    where = str(tmp_path / "r.db") if kind == "file" else request.getfixturevalue("url")
    one = case()

    def group(node: str, outcome: str = "ok") -> list:
        mark = "f" if node else ""
        return [(one, Result(one.hash, m, "s", outcome, node=node, fingerprint=mark)) for m in "ab"]

    with Store.open(where) as store, Store.open(where) as other:
        store.begin_run(RunRecord("r", created=1.0))
        assert store.add_group("r", group("", "failed"), 2)
        assert store.add_group("r", group("one"), 2), "what was given up is no obstacle"
        assert not other.add_group("r", group("one"), 2), "this node has done it"
        assert other.add_group("r", group("two"), 2)
        assert not store.add_group("r", group("three"), 2)
        assert not store.add_group("r", group("", "failed"), 2)
        assert sorted((s.result.node, s.result.metric) for s in store.results()) == [
            ("one", "a"), ("one", "b"), ("two", "a"), ("two", "b"),
        ]  # fmt: skip


WRITER = """
import sys
from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoreError

store = Store.open(sys.argv[1])
try:
    store.begin_run(RunRecord("shared", created=1.0))
except StoreError:
    pass
for number in range(int(sys.argv[2])):
    case = Case("s", f"n{number % 7}", "call", "pass")
    samples = tuple(Sample(number + i / 7, order=i) for i in range(30))
    store.add_result("shared", case, Result(case.hash, f"m{number}", "s", samples=samples))
"""


@pytest.mark.slow
def test_processes_that_create_and_fill_one_store_at_once_lose_and_double_nothing(url):
    command = [sys.executable, "-c", WRITER, url, "60"]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for writer in writers:
        _, said = writer.communicate(timeout=600)
        assert writer.returncode == 0, said
    with Store.open(url, create=False) as store:
        stored = store.results(samples=True)
        assert sorted(s.result.metric for s in stored) == sorted(f"m{n}" for n in range(60))
        assert all(len(s.result.samples) == 30 for s in stored)


def test_a_server_that_restarts_costs_no_result(server, url):
    one = case()
    with Store.open(url) as store:
        store.begin_run(RunRecord("r", created=1.0))
        store.add_result("r", one, Result(one.hash, "before", "s"))
        server.stop("fast")
        server.start()
        assert store.add_result("r", one, Result(one.hash, "after", "s"))
        assert {s.result.metric for s in store.results()} == {"before", "after"}


def test_every_question_of_a_reading_sees_the_same_moment(url):
    one, two = case("one"), case("two")
    with Store.open(url) as store, Store.open(url) as writer:
        store.begin_run(RunRecord("r", created=1.0))
        store.add_result("r", one, Result(one.hash, "m", "s"))
        with store._database.reading() as connection:
            count = text("SELECT count(*) FROM results")
            assert connection.scalar(count) == 1
            writer.add_result("r", two, Result(two.hash, "m", "s"))
            assert connection.scalar(count) == 1
        assert len(store.results()) == 2


# -- moving and checking --------------------------------------------------------------------------


def test_copying_there_and_back_changes_nothing_and_can_be_repeated(url, tmp_path):
    first, last = str(tmp_path / "first.db"), str(tmp_path / "last.db")
    fill(first)
    fill(first, "second-run", results=2)
    for source, target in ((first, url), (url, last), (first, url)):
        ours, theirs = Database.open(source, create=False), Database.open(target, create=True)
        done = copy(ours, theirs, all_runs(ours))
        ours.close()
        theirs.close()
    assert done.results == 0
    assert done.known == 7
    assert everything(first) == everything(url) == everything(last)


@pytest.mark.parametrize("kind", ["file", "server"])
def test_check_finds_what_does_not_fit(kind, request, tmp_path):
    where = str(tmp_path / "r.db") if kind == "file" else request.getfixturevalue("url")
    fill(where)
    database = Database.open(where, create=True)
    assert check(database).faults == []
    assert check(database).counts["results"] == 5
    for broken in (
        "UPDATE results SET place = 'elsewhere' WHERE metric = 'm0'",
        "UPDATE results SET n_samples = 21 WHERE metric = 'm1'",
        "UPDATE results SET outcome = 'splendid' WHERE metric = 'm2'",
        "DELETE FROM samples WHERE result_id = (SELECT id FROM results WHERE metric = 'm3')",
        "UPDATE cases SET id = 'other' WHERE name = 'n1'",
        "UPDATE runs SET status = 'asleep'",
    ):
        with database.writing() as connection:
            connection.execute(text(broken))
    faults = "\n".join(check(database).faults)
    database.close()
    for said in ("filed under 'elsewhere'", "20 samples where 21", "'splendid'",
                 "missing 20 samples", "stored as other", "'asleep'"):  # fmt: skip
        assert said in faults


# -- schemas --------------------------------------------------------------------------------------


def old_store(where: str) -> None:
    """A store as schema 1 was, made by the first migration alone."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    from opbench.store.connection import sqlite_file

    address = parse_address(where)
    if address.path is not None:
        address.path.touch()
        from sqlalchemy import create_engine

        engine = create_engine(address.url)
    else:
        from opbench.store.connection.server import server_engine

        engine = server_engine(address)
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    script = ScriptDirectory.from_config(config)
    with engine.begin() as connection:
        steps = lambda heads, _context: script._upgrade_revs("1", heads)  # noqa: E731
        with EnvironmentContext(config, script, fn=steps) as environment:
            environment.configure(connection=connection, version_table="unused")
            environment.run_migrations()
        connection.execute(text("DROP TABLE unused"))
        connection.execute(
            text("INSERT INTO meta VALUES ('application', 'opbench'), ('schema_version', '1')")
        )
        connection.execute(
            text(
                "INSERT INTO runs VALUES "
                "('old', '', 1, 2, 'finished', '', '', '', '{}', '{}', '{}')"
            )
        )
        one = case()
        connection.execute(
            text(
                "INSERT INTO cases VALUES (:hash, :id, 's', 'n', 'call', 'python', 'python', "
                "'eager', 'cpu', '', 1, '[]', :source, 1)"
            ),
            {"hash": one.hash, "id": one.id, "source": json.dumps(one.to_dict())},
        )
        connection.execute(
            text(
                "INSERT INTO results (run_id, case_hash, metric, unit, outcome, reason, n_samples, "
                "warnings, detail, environment, fingerprint, place, policy, group_name, created) "
                "VALUES ('old', :hash, 'time', 's', 'ok', '', 0, '[]', '{}', 'current', 'f', "
                "'current:f', '', '', 1)"
            ),
            {"hash": one.hash},
        )
        if address.path is not None:
            connection.exec_driver_sql(f"PRAGMA application_id = {sqlite_file.APPLICATION_ID}")
            connection.exec_driver_sql("PRAGMA user_version = 1")
    engine.dispose()


def differences(where: str) -> list:
    """Between the tables there and those of `tables.py`, as Alembic sees them."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    database = Database.open(where, create=False)
    try:
        with database.reading() as connection:
            options = {"compare_type": False, "version_table": "opbench_revision"}
            found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    finally:
        database.close()
    # Alembic hides its own table from one side only.
    return [one for one in found if "opbench_revision" not in str(one)]


def test_an_older_file_is_brought_up_to_date_when_it_is_opened(tmp_path):
    path = tmp_path / "old.db"
    old_store(str(path))
    with Store.open(path, create=False) as store:
        (found,) = store.results()
        assert (found.result.metric, found.result.node) == ("time", "")
    assert int.from_bytes(path.read_bytes()[60:64], "big") == SCHEMA_VERSION
    assert differences(str(path)) == []
    fill(str(path))  # and it can be written


def test_an_older_file_that_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "old.db"
    old_store(str(path))
    from opbench.store.connection.sqlite_file import inspect
    from opbench.store.schema import OlderSchema

    with pytest.raises(OlderSchema) as caught:
        inspect(path)
    assert "was written by an older opbench (schema 1; this one writes 3)" in str(caught.value)
    assert f"opbench store upgrade {path}" in str(caught.value)


def test_an_older_server_is_refused_until_somebody_upgrades_it(url):
    old_store(url)
    for create in (True, False):
        with pytest.raises(StoreError) as caught:
            Store.open(url, create=create)
        assert "was written by an older opbench (schema 1; this one writes 3)" in str(caught.value)
        assert "***" in str(caught.value)
    assert upgrade(url) == (1, SCHEMA_VERSION)
    assert upgrade(url) == (SCHEMA_VERSION, SCHEMA_VERSION)
    assert differences(url) == []
    with Store.open(url, create=False) as store:
        assert len(store.results()) == 1


def test_a_new_store_and_one_that_was_upgraded_have_the_same_tables(url, tmp_path):
    fill(url)
    fill(str(tmp_path / "new.db"))
    assert differences(url) == []
    assert differences(str(tmp_path / "new.db")) == []


# -- refusals -------------------------------------------------------------------------------------


def refused(url: str, create: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        Store.open(url, create=create)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_a_wrong_address_password_or_database_is_one_line(server, url, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    secret = server.password
    wrong = url.replace(secret, "guess-guess")
    said = refused(wrong)
    assert "did not accept the password; set PGPASSWORD" in said
    assert "guess" not in said
    said = refused(server.url(password="").replace("opbench@", "opbench@"))
    assert "did not accept the password" in said
    said = refused(f"postgresql://u:{secret}@127.0.0.1:1/x")
    assert "no PostgreSQL server answers there" in said
    assert secret not in said
    said = refused(f"postgresql://u:{secret}@no-such-host.invalid/x")
    assert "there is no host of that name" in said
    assert "does not exist" in refused(server.url("nowhere"))
    said = refused(f"postgresql:/u:{secret}@h/x")
    assert secret not in said
    assert "there is no opbench store in" in refused(server.new_database(), create=False)


def test_the_password_comes_from_the_environment_or_a_file(server, url, monkeypatch, tmp_path):
    without = url.replace(f":{server.password}", "")
    monkeypatch.setenv("PGPASSWORD", server.password)
    Store.open(without).close()
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:*:*:*:{server.password}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    Store.open(without, create=False).close()


def test_missing_privileges_are_named_before_anything_is_measured(server, url):
    fill(url)
    name = url.rpartition("/")[2]
    server.sql(
        "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN PASSWORD 'readable'", database=name
    )
    theirs = server.url(name, "reader", "readable")
    try:
        assert "permission denied for table meta; ask the owner" in refused(theirs, False)
        server.sql("GRANT SELECT ON meta TO reader", database=name)
        assert "user reader may not SELECT in runs; let its owner" in refused(theirs, False)
        server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", database=name)
        with Store.open(theirs, create=False) as store:
            assert len(store.results()) == 5
        assert "user reader may not INSERT in" in refused(theirs)
        server.sql(
            "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader", database=name
        )
        assert "may not number results" in refused(theirs)
        fresh = server.new_database().rpartition("/")[2]
        server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database=fresh)
        assert "permission denied for schema public" in refused(
            server.url(fresh, "reader", "readable")
        )
    finally:
        server.sql("DROP OWNED BY reader", database=name)
        server.sql("DROP ROLE reader")


def test_another_programs_tables_and_newer_schemas_are_left_alone(server, url):
    name = url.rpartition("/")[2]
    server.sql("CREATE TABLE results (id int)", "CREATE TABLE customers (id int)", database=name)
    assert "has tables of another program (results); left untouched" in refused(url)
    later = server.new_database()
    fill(later)
    name = later.rpartition("/")[2]
    server.sql("UPDATE meta SET value = '99' WHERE key = 'schema_version'", database=name)
    assert "was written by a newer opbench (schema 99; this one knows 3)" in refused(later)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("postgresql://u:geheim@h:5432/d", "postgresql://u:***@h:5432/d"),
        ("--store=postgresql://u:ge@he:im@h/d", "--store=postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=geheim&sslmode=require", "postgresql://u@h/d?password=***&sslmode=require"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql:///d", "postgresql:///d"),
        ("-a n=64,512", "-a n=64,512"),
    ],
)  # fmt: skip
def test_a_password_is_masked_wherever_it_stands(written, shown):
    assert without_password(written) == shown
