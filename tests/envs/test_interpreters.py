"""Any interpreter as an environment, by its path or by a name that was given to it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from opbench.envs import builds, interpreters
from opbench.envs.environments import find, interpreter_facts_of, names
from opbench.errors import UserError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPBENCH_HOME", str(tmp_path / "home"))


@pytest.fixture
def virtual(tmp_path) -> Path:
    """A virtual environment without pip: another interpreter, which has other packages."""
    import venv

    venv.create(tmp_path / "virtual", with_pip=False, symlinks=True)
    return tmp_path / "virtual"


def test_a_path_is_an_environment(virtual):
    for path in (virtual, virtual / "bin" / "python"):
        found = find(str(path))
        assert found.name == str(path)
        assert found.python == str(virtual / "bin" / "python")
    assert interpreter_facts_of(found)["packages"] == {}


def test_a_name_is_added_and_forgotten(virtual):
    interpreters.add("mine", str(virtual))
    assert find("mine").python == str(virtual / "bin" / "python")
    assert "mine" in names()
    interpreters.add("mine", str(virtual))  # again is no mistake
    with pytest.raises(UserError, match="remove it first: opbench env remove mine"):
        interpreters.add("mine", sys.executable)
    interpreters.remove("mine")
    with pytest.raises(UserError, match="unknown environment 'mine'"):
        find("mine")
    assert virtual.is_dir()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("./nowhere/python", "interpreter not found"),
        (str(Path(__file__).parent), "without bin/python"),
        (__file__, "not executable"),
    ],
)
def test_what_is_no_interpreter_is_refused(path, says):
    with pytest.raises(UserError, match=says):
        find(path)
    with pytest.raises(UserError, match=says):
        interpreters.add("mine", path)
    with pytest.raises(UserError, match="cannot be called"):
        interpreters.add("current", sys.executable)


def test_from_the_command_line(opbench_here, virtual, tmp_path, monkeypatch):
    added = opbench_here("env", "add", "mine", "--python", str(virtual))
    assert added.returncode == 0, added.stderr
    assert str(virtual) in added.stdout
    assert "mine" in opbench_here("env", "list").stdout
    wrong = opbench_here("env", "add", "other", "--python", "/bin/false")
    assert wrong.returncode == 2
    assert "does not answer" in wrong.stderr
    assert "other" not in interpreters.added()
    (tmp_path / "bench.py").write_text(
        "from opbench.snippets import GroupedStmts\nplus = GroupedStmts('1 + 1')\n"
    )
    done = opbench_here("ab", "bench.py", "--env", sys.executable, "--env", "mine",
                        "--max-time-per-case", "0.1s")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert opbench_here("env", "remove", "mine").returncode == 0
    assert not builds.built()
