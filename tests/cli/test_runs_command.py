"""`opbench runs --delete`, `--rename`, and the help of `opbench report`."""

from __future__ import annotations

import pytest

import page_store
from opbench.api.run import command as command_line
from opbench.store import Store


@pytest.fixture
def store(tmp_path):
    path = tmp_path / ".opbench" / "results.db"
    page_store.fill(path, nights=2)
    return path


def test_a_run_is_deleted_with_its_results_and_what_only_it_had(command, store):
    done = command("runs", "--delete", "layers", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "deleted run 20261118-120000-0003 (layers), finished, 72 results\n"
    with Store.open(store, create=False) as opened:
        assert [run.name for run in opened.runs()] == ["peaks", "night 1", "night 0"]
        assert not [case for case in opened.cases() if case.suite == "layers"]
        assert len(opened.results(run=opened.find_run("night 1"), samples=True)) == 64


def test_cases_that_another_run_has_stay(command, store):
    command("runs", "--delete", "night 0", "--yes")
    with Store.open(store, create=False) as opened:
        assert {case.suite for case in opened.cases()} == {"ops", "peaks", "layers"}


def test_while_a_run_is_measured_its_cases_stay(command, store):
    with Store.open(store, create=False) as opened:
        opened.resume_run(opened.find_run("night 1").id)
    command("runs", "--delete", "layers", "--yes")
    with Store.open(store, create=False) as opened:
        assert [case for case in opened.cases() if case.suite == "layers"]


def test_without_a_terminal_deleting_wants_a_yes(command, store):
    done = command("runs", "--delete", "layers")
    assert done.returncode == 2
    assert "would delete run 20261118-120000-0003 (layers)" in done.stderr
    assert "confirm with --yes" in done.stderr
    assert "layers" in command("runs").stdout


def test_a_run_gets_another_name(command, store):
    done = command("runs", "--rename", "last", "before the change")
    assert done.stdout == (
        "run 20261118-120000-0003 is before the change now, called layers before\n"
    )
    with Store.open(store, create=False) as opened:
        assert opened.find_run("before the change").id == "20261118-120000-0003"


def test_a_name_that_another_run_has_stands_for_the_latest(command, store):
    done = command("runs", "--rename", "night 0", "layers")
    assert done.stdout.splitlines()[1] == (
        "1 other run has this name; it stands for the latest, 20261118-120000-0003"
    )
    with Store.open(store, create=False) as opened:
        assert opened.find_run("layers").id == "20261118-120000-0003"


def test_a_store_that_is_not_there_is_not_made(command, tmp_path):
    assert command("runs", "--delete", "last", "--yes").returncode == 2
    assert not (tmp_path / ".opbench").exists()


def test_the_help_of_report_is_that_of_the_page(command):
    shown = command("report", "--help").stdout
    assert shown.startswith("Usage: opbench report [OPTIONS] [RUN]")
    for option in ("--output, -o", "--against", "--charts", "--no-history", "--open"):
        assert option.split(",")[0] in shown
    assert "layers" in shown, "the other reports"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (["/usr/bin/opbench", "run", "my file.py"], "opbench run 'my file.py'"),
        (["train.py"], "train.py"),
        (["-c"], "python"),
        ([""], "python"),
    ],
)
def test_a_run_says_what_started_it(monkeypatch, typed, kept):
    monkeypatch.setattr("sys.argv", typed)
    assert command_line() == kept
