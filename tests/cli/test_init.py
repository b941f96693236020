"""`opbench init` writes a file that works as it is, and overwrites nothing unasked."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from opbench.cli.init import init
from opbench.define.expand import expand
from opbench.define.userfile import targets_from

app = typer.Typer()
app.command()(init)


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
    done = CliRunner().invoke(app, [str(path)])
    assert done.exit_code == 2
    assert path.read_text() == "precious"
    assert CliRunner().invoke(app, [str(path), "--force"]).exit_code == 0
    assert "import opbench as ob" in path.read_text()


@pytest.mark.parametrize("name", ["mine.txt", "no/such/folder/mine.py"])
def test_an_impossible_path_is_refused(tmp_path, name):
    assert CliRunner().invoke(app, [str(tmp_path / name)]).exit_code == 2
    assert not (tmp_path / name).exists()


def test_a_folder_gets_the_usual_name(tmp_path):
    assert CliRunner().invoke(app, [str(tmp_path)]).exit_code == 0
    assert (tmp_path / "bench_example.py").exists()
