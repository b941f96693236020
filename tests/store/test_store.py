from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, Store, StoredResult, StoreError, copying, new_run_id
from opbench.store import store as stores
from opbench.store.connection.database import Database

SAMPLES = tuple(
    Sample(1.5e-5 + i * 1e-8, start=i % 3, session=i % 2, order=i, n=100, wall_ns=1500, cpu_ns=1490)
    for i in range(20)
)


def measured(case, metric="time", **more):
    values = {"estimate": 1.5e-5, "low": 1.4e-5, "high": 1.6e-5, "samples": SAMPLES, **more}
    return Result(case.hash, metric, "s", fingerprint="f1", policy="adaptive 1%", **values)


def test_a_result_comes_back_as_it_was_stored(store, run, make_case):
    case = make_case()
    result = replace(
        measured(case),
        warnings=(Warning("contended", "3 of 20 blocks were disturbed"),),
        detail={"way": "repeatable", "parts": {"weights": 4}},
        group="g1",
        created=1_794_712_502.25,
    )
    assert store.add_result(run.id, case, result)
    assert store.results(samples=True) == [StoredResult(run.id, case, result, n_samples=20)]
    assert store.results() == [StoredResult(run.id, case, replace(result, samples=()), 20)]


def test_a_failure_is_a_result_with_its_reason(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, Result(case.hash, "time", "s", "crashed", "SIGSEGV"))
    (stored,) = store.results(outcome="crashed")
    assert stored.result.outcome_text == "crashed SIGSEGV"
    assert store.done_keys(run.id) == {stored.result.key()}
    assert store.done_keys(run.id, outcome="ok") == set()


def test_the_same_key_is_stored_once_and_the_first_stays(store, run, make_case):
    case = make_case()
    assert store.add_result(run.id, case, measured(case))
    assert not store.add_result(run.id, case, measured(case, estimate=9.0))
    (stored,) = store.results()
    assert stored.result.estimate == 1.5e-5


def test_replace_puts_a_retried_result_and_its_samples_in_place_of_the_old(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, measured(case))
    retried = measured(case, estimate=2e-5, samples=SAMPLES[:3])
    assert store.add_result(run.id, case, retried, replace=True)
    (stored,) = store.results(samples=True)
    assert stored.result == retried


@pytest.mark.parametrize(
    "change", [{"metric": "memory"}, {"fingerprint": "f2"}, {"policy": "fixed 3x5"}]
)
def test_metric_fingerprint_and_policy_are_part_of_the_key(store, run, make_case, change):
    case = make_case()
    store.add_result(run.id, case, measured(case))
    assert store.add_result(run.id, case, replace(measured(case), **change))
    assert len(store.done_keys(run.id)) == 2


def test_without_a_fingerprint_the_environment_takes_its_place_in_the_key(store, run, make_case):
    case = make_case()
    results = [Result(case.hash, "time", "s", environment=name) for name in ("current", "mxnet")]
    assert store.add_results(run.id, [(case, result) for result in results]) == 2
    assert store.done_keys(run.id) == {result.key() for result in results}


def test_a_batch_is_stored_whole_or_not_at_all(store, run, make_case):
    one, two = make_case(batch=1), make_case(batch=2)
    with pytest.raises(ValueError, match="given with case"):
        store.add_results(run.id, [(one, measured(one)), (two, measured(one, "memory"))])
    assert store.results() == []
    assert store.cases() == []
    assert store.add_results(run.id, [(one, measured(one)), (two, measured(two))]) == 2


def test_results_are_filtered_and_come_oldest_run_first(store, make_case):
    old = RunRecord(new_run_id(1e9), "a", created=1e9)
    new = RunRecord(new_run_id(2e9), "b", created=2e9)
    one, two = make_case(batch=1), make_case(batch=2)
    for record in (new, old):
        store.begin_run(record)
        for case in (one, two):
            store.add_result(record.id, case, measured(case))
            store.add_result(record.id, case, measured(case, "memory", environment="torch-2.4"))
    assert [found.run_id for found in store.results(case_id=one.id, metric="time")] == [
        old.id,
        new.id,
    ]
    assert len(store.results(run=old)) == 4
    assert len(store.results(run=new.id, case_hash=two.hash)) == 2
    assert len(store.results(environment="torch-2.4")) == 4
    assert store.tally(old) == {old.id: {"ok": 4}}
    assert store.cases(run=old) == [one, two]


def test_an_edited_case_keeps_its_history_under_one_id(store, make_case):
    first, edited = make_case(stmt="layer(x)"), make_case(stmt="layer(x).sum()")
    assert first.id == edited.id
    assert first.hash != edited.hash
    for position, case in enumerate((first, edited)):
        record = RunRecord(f"r{position}", created=1e9 + position)
        store.begin_run(record)
        store.add_result(record.id, case, measured(case))
    assert [found.case for found in store.results(case_id=first.id)] == [first, edited]
    assert store.find_cases(first.id) == [edited, first]
    assert store.find_cases(first.hash) == [first]


def test_runs_carry_what_was_asked_for_and_how_it_ended(store):
    record = RunRecord.new(
        'n\'ightly "é"',
        command="opbench run -k 'x'",
        version="0.1.0",
        commit="abc",
        machine={"cpu": "EPYC", "load": 0.5},
        policy={"precision": 0.01},
        request={"suites": ["layers"], "axes": {"batch": [1, 2]}},
    )
    store.begin_run(record)
    assert store.runs() == [record]
    store.finish_run(record.id, "interrupted")
    (ended,) = store.runs()
    assert ended.status == "interrupted"
    assert ended.finished >= record.created
    store.resume_run(record.id)
    assert store.find_run(record.id) == record


def test_a_run_id_sorts_by_time_and_is_unique():
    assert re.fullmatch(r"20261115-031502-[0-9a-f]{4}", new_run_id(1_794_712_502))
    assert new_run_id(1e9) < new_run_id(2e9)


def test_a_run_begins_once_and_results_need_one(store, run, make_case):
    case = make_case()
    with pytest.raises(StoreError, match="already has a run"):
        store.begin_run(run)
    with pytest.raises(StoreError, match="no run nope: begin it first"):
        store.add_result("nope", case, measured(case))
    with pytest.raises(StoreError, match="no run nope"):
        store.finish_run("nope")
    with pytest.raises(ValueError, match="unknown status 'done'"):
        store.finish_run(run.id, "done")


def test_environments_are_kept_by_fingerprint(store):
    store.add_environment("f1", {"python": "3.11", "torch": "2.13"})
    store.add_environment("f1", {"python": "other"})
    assert store.environment("f1") == {"python": "3.11", "torch": "2.13"}
    assert store.environment("f2") is None


def test_a_reopened_store_still_has_everything(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, measured(case))
    store.close()
    with Store.open(f"sqlite:///{store.path}", create=False) as again:
        assert again.find_run("last") == run
        assert len(again.results(samples=True)[0].result.samples) == 20


def test_records_and_errors_import_neither_sqlalchemy_nor_pandas():
    code = (
        "import sys; import opbench.store, opbench.api.frames, opbench.report.export.csv;"
        "print([m for m in ('sqlalchemy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_that_is_added_whole_is_there_whole_or_not_at_all(store, make_case, monkeypatch):
    cases = [make_case(batch=batch) for batch in (1, 2)]
    pairs = [(case, measured(case)) for case in cases]
    record = RunRecord.new("imported", status="finished")

    def interrupted(*_arguments: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(stores, "insert_results", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.add_run(record, pairs, {"f1": {"cpu": "x"}})
    assert store.runs() == []
    store.add_run(record, pairs, {"f1": {"cpu": "x"}})
    assert [run.status for run in store.runs()] == ["finished"]
    assert len(store.results(run=record)) == 2
    assert store.environment("f1") == {"cpu": "x"}


def test_a_store_is_where_it_was_opened(tmp_path, make_case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Store.open("relative.db") as opened:
        opened.begin_run(RunRecord.new())
        os.chdir("elsewhere")
        opened.begin_run(RunRecord.new())
        assert len(opened.runs()) == 2


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_store_that_is_taken_away_is_noticed(store, run, make_case, how):
    case = make_case()
    path = store.path
    if how != "deleted":
        path.rename(path.with_name("elsewhere.db"))
    else:
        path.unlink()
    if how == "replaced":
        Store.open(path).close()
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        store.add_result(run.id, case, measured(case))


def test_a_copy_that_was_cut_short_says_so_until_it_is_done_again(
    store, run, make_case, tmp_path, monkeypatch
):
    pairs = [(case, measured(case)) for case in (make_case(batch=batch) for batch in range(5))]
    store.add_results(run.id, pairs)
    store.finish_run(run.id)
    monkeypatch.setattr(copying, "BATCH", 2)
    written = copying.insert_rows

    def killed_later(connection, rows, payloads):
        if len(rows) < 2:
            raise KeyboardInterrupt
        return written(connection, rows, payloads)

    heard: list[str] = []

    def copied() -> None:
        copying.copy(Database.open(store.path, False), target, [run.id], lambda *a: heard.append(a))

    target = Database.open(tmp_path / "copy.db", create=True)
    with Store(target) as copy:
        with monkeypatch.context() as patched:
            patched.setattr(copying, "insert_rows", killed_later)
            with pytest.raises(KeyboardInterrupt):
                copied()
        assert heard == []
        assert [(one.status, one.finished) for one in copy.runs()] == [("interrupted", None)]
        assert len(copy.results()) == 4
        copied()
        assert heard == [(run.id, 5)]
        assert copy.runs() == store.runs()
        assert len(copy.results()) == 5
