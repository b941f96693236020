"""`opbench init` writes a file that works as it is, and overwrites nothing unasked."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from opbench.cli.init import init
from opbench.cli.main import explain
from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.errors import UserError

app = typer.Typer()
app.command()(init)


def exit_code(*arguments) -> int:
    """As the console script gives it."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return explain(done.exception) if isinstance(done.exception, UserError) else done.exit_code


def test_the_written_file_can_be_run(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    done = CliRunner().invoke(app, [str(path)])
    assert done.exit_code == 0
    assert f"opbench run {path}" in done.stdout
    cases = expand(targets_from(path).definitions)
    assert {case.name for case in cases} == {"gelu", "Block", "sort_copy"}
    assert {case.stage for case in cases} == {"call", "forward", "backward", "forward_backward"}


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("precious")
    assert exit_code(path) == 2
    assert path.read_text() == "precious"
    assert exit_code(path, "--force") == 0
    assert "import opbench as ob" in path.read_text()


@pytest.mark.parametrize("name", ["mine.txt", "no/such/folder/mine.py"])
def test_an_impossible_path_is_refused(tmp_path, name):
    assert exit_code(tmp_path / name) == 2
    assert not (tmp_path / name).exists()


def test_a_folder_gets_the_usual_name(tmp_path):
    assert exit_code(tmp_path) == 0
    assert (tmp_path / "bench_example.py").exists()
