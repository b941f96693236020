"""`opbench env`, as typed; builds themselves are in tests/envs/test_environment_builds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from opbench.cli.env import building
from opbench.envs import builds
from opbench.envs.requirements import parse

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def home(numpy_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(numpy_home))


def test_the_list_has_the_current_the_predefined_and_the_built(opbench_here: Command) -> None:
    listed = opbench_here("env", "list")
    rows = {line.split()[0]: line for line in listed.stdout.splitlines() if line.strip()}
    assert "the one opbench runs in" in rows["current"]
    assert "mxnet==1.9.1 numpy==1.23.5" in rows["mxnet"]
    assert "built on first use" in rows["mxnet"]
    assert "numpy==2.2.5" in rows["np22"]
    assert "platform_machine" not in listed.stdout


def test_the_list_has_what_is_installed_of_what_was_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = parse(["numpy<3", "openblas==1; platform_machine == 'vax'"])
    build = builds.Build("mine", asked, ("numpy==2.2.6", "six==1"), "3.11.7", "2026-11-19T04:00")
    monkeypatch.setattr(builds, "built", lambda: [build])
    (row,) = (line for line in command("env", "list").stdout.splitlines() if " mine " in line)
    assert row.split() == ["mine", "3.11.7", "numpy==2.2.6", "built", "2026-11-19"]


def test_show_tells_the_interpreter_and_every_package(
    opbench_here: Command, numpy_home: Path
) -> None:
    shown = opbench_here("env", "show", "np22")
    assert f"interpreter   {numpy_home}/envs/np22/bin/python\n" in shown.stdout
    assert "requirements  numpy==2.2.5\n" in shown.stdout
    assert "packages      numpy==2.2.5\n" in shown.stdout
    assert "packages" in opbench_here("env", "show", "current").stdout


def test_creating_what_is_there_does_nothing(opbench_here: Command) -> None:
    again = opbench_here("env", "create", "np22", "numpy==2.2.5")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("np22: Python 3.")
    assert again.stdout.endswith(", numpy==2.2.5\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "np22", "numpy==2.3.5"], "opbench env remove np22"),
        (["create", "current", "numpy"], "cannot be called 'current'"),
        (["create", "new"], "needs something to install"),
        (["create", "new", "-r", "nowhere.txt"], "requirements file not found: nowhere.txt"),
        (["create", "new", "numpy", "--python", "nopython"], "interpreter not found: nopython"),
        (["show", "np2"], "did you mean np2"),
        (["show", "mxnet"], "is not built yet"),
        (["remove", "current"], "unknown built environment 'current'"),
        (["remove", "../np22"], "unknown built environment"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, opbench_here: Command
) -> None:
    ended = opbench_here("env", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_unknown_environment_is_said_before_anything_runs(opbench_here: Command) -> None:
    ended = opbench_here("run", "--env", "np22,np99", "tour")
    assert ended.returncode == 2
    assert "unknown environment 'np99'" in ended.stderr
    assert ended.stdout == ""


def test_a_build_shows_each_line_in_a_log_and_the_last_on_a_terminal() -> None:
    log = Console(force_terminal=False, width=80, record=True, quiet=False)
    with log.capture() as lines, building(log, "np") as on_line:
        on_line("Collecting [numpy]")
        on_line("x" * 200)
    assert lines.get() == f"np: Collecting [numpy]\nnp: {'x' * 200}\n"
    terminal = Console(force_terminal=True, width=80)
    with terminal.capture() as drawn, building(terminal, "np") as on_line:
        on_line("Collecting [numpy]")
    assert "np: Collecting [numpy]" in drawn.get()
    with terminal.capture() as nothing, building(terminal, "np"):
        pass
    assert nothing.get() == ""
