"""Continuing a run of a store from elsewhere executes what that store says: only if one agrees."""

from __future__ import annotations

import pytest

from opbench.cli import consent
from opbench.store import RunRecord, Store


@pytest.fixture
def foreign(tmp_path):
    """A store whose run names a file that is not the user's."""

    def make(**request: object) -> str:
        path = tmp_path / "theirs.db"
        with Store.open(path) as store:
            store.begin_run(RunRecord("r", "r", created=1e9, request=request))
        return str(path)

    return make


@pytest.fixture
def trap(tmp_path):
    """A benchmark file that leaves a trace when it is executed."""
    (tmp_path / "trap.py").write_text(
        "import opbench as ob\nopen('sprung', 'w').close()\n@ob.bench\ndef f(): pass\n"
    )
    return tmp_path / "sprung"


def test_without_a_terminal_it_is_refused(command, foreign, trap, monkeypatch):
    done = command("run", "--cont", "--store", foreign(targets=["trap.py"]))
    assert done.returncode == 2
    assert "run r of " in done.stderr
    assert "executes trap.py; add --yes to let it" in done.stderr
    assert not trap.exists()


def test_with_yes_it_runs(command, foreign, trap):
    where = foreign(targets=["trap.py"], num_runs=1, num_repeats=1)
    done = command("run", "--cont", "--yes", "--store", where)
    assert done.returncode == 0, done.stderr
    assert trap.exists()


@pytest.mark.parametrize(("answer", "code"), [("n", 2), ("", 2), ("y", 0)])
def test_at_a_terminal_it_asks(command, foreign, trap, monkeypatch, answer, code):
    monkeypatch.setattr("sys.stdin", Terminal())
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    where = foreign(targets=["trap.py"], num_runs=1, num_repeats=1)
    assert command("run", "--cont", "--store", where).returncode == code
    assert asked == ["Continue? [y/N] "]
    assert trap.exists() == (code == 0)


class Terminal:
    def isatty(self) -> bool:
        return True


def test_the_folder_s_own_store_and_files_one_names_oneself_need_no_question(
    command, foreign, trap, tmp_path
):
    where = foreign(targets=["trap.py"], num_runs=1, num_repeats=1)
    assert command("run", "trap.py", "--cont", "--store", where).returncode == 0
    (tmp_path / ".opbench").mkdir()
    (tmp_path / "theirs.db").rename(tmp_path / ".opbench" / "results.db")
    for own in (
        [],
        ["--store", ".opbench/results.db"],
        ["--store", "./.opbench/../.opbench/results.db"],
    ):
        assert command("run", "--cont", *own).returncode == 0


@pytest.mark.parametrize(
    ("request_", "executed"),
    [
        ({"targets": ["tour", "ops"]}, []),
        ({"targets": ["tour", "a.toml", "x.jsonl"]}, ["a.toml", "x.jsonl"]),
        ({"targets": ["tour"], "imports": ["evil.ops"]}, ["evil.ops"]),
        ({"targets": [], "environments": ["current", "/tmp/python"]}, ["/tmp/python"]),
        ({"targets": "a.py", "imports": "evil"}, ["a.py", "evil"]),
        ({"targets": ["ops"], "environments": "/tmp/python"}, ["/tmp/python"]),
        ({"targets": ["ops"], "on": "ray://elsewhere:1"}, ["on ray://elsewhere:1"]),
        ({}, []),
    ],
)
def test_what_a_request_executes(request_, executed):
    assert consent.executes(request_) == executed


@pytest.mark.parametrize(
    "wrong", [{"imports": 3}, {"shapes": ["/etc/passwd"]}, {"shapes": [[1]]}, {"shapes": {"a": 1}}]
)
def test_a_request_of_the_wrong_form_is_one_line(command, foreign, wrong):
    done = command("run", "--cont", "--store", foreign(targets=["tour"], **wrong))
    assert done.returncode == 2
    assert f"{next(iter(wrong))}: expected" in done.stderr
