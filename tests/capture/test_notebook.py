"""A notebook runs as a script does."""

from __future__ import annotations

import json

import pytest

from opbench.capture.launch import print_as_python_would
from opbench.capture.notebook import as_python, cells_of, run_notebook


def notebook(path, *sources):
    cells = [{"cell_type": "markdown", "source": ["# x = broken("]}]
    cells += [{"cell_type": "code", "source": s.splitlines(keepends=True)} for s in sources]
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}))
    return str(path)


def test_the_code_cells_run_in_their_order(tmp_path, capsys):
    path = notebook(
        tmp_path / "n.ipynb", "%matplotlib inline\nx = 2\nif x:\n    !pip install y\n",
        "%%bash\necho no", "%%opbench_capture\nprint(x * 21)",
    )  # fmt: skip
    run_notebook(path)
    assert capsys.readouterr().out == "42\n"
    assert len(cells_of(path)) == 2


def test_a_cell_that_is_timed_runs(tmp_path, capsys):
    """A training loop often is such a cell: without it there would be nothing to capture."""
    path = notebook(
        tmp_path / "n.ipynb", "%%time\nx = 2\n", "%%capture out\nx += 1", "%time y = x * 2",
        "%%bash\necho no", "print(x, y)",
    )  # fmt: skip
    run_notebook(path)
    out, err = capsys.readouterr()
    assert out == "3 6\n"
    assert err == "opbench: skipped a %%bash cell\n"


@pytest.mark.parametrize(
    "line", ["files = !ls", "where = %pwd", "sum?", "  sum??", "?sum", "%time"]
)
def test_a_line_of_a_notebook_is_left_out_wherever_it_is(line):
    indent = line[: len(line) - len(line.lstrip())]
    names = {}
    exec(as_python(f"if True:\n{indent}  {line.strip()}\nx = 1"), names)
    assert names["x"] == 1


def test_a_remainder_on_a_line_of_its_own_is_no_magic():
    names = {}
    exec(as_python("x = (7\n  % 4)\ntext = '''\n!no\n'''"), names)
    assert (names["x"], names["text"]) == (3, "\n!no\n")


def test_an_error_of_a_cell_begins_with_the_cell(tmp_path, capsys):
    path = notebook(tmp_path / "n.ipynb", "1 / 0")
    try:
        run_notebook(path)
    except ZeroDivisionError as error:
        print_as_python_would(error.with_traceback(error.__traceback__.tb_next))
    assert "in run_notebook" not in capsys.readouterr().err


class Shell:
    """What the magic uses of IPython's shell."""

    def register_magic_function(self, function, magic_kind):
        assert magic_kind == "cell"
        self.magic = function

    def run_cell(self, cell):
        exec(cell, {})
        return self

    def raise_error(self):
        pass


def test_the_cell_magic_records_its_cell(tmp_path):
    import opbench
    from opbench.capture.reading import read

    shell = Shell()
    opbench.load_ipython_extension(shell)
    shell.magic(f"{tmp_path / 'c.jsonl'}", "import torch; torch.zeros(2).cos()")
    assert "aten::cos" in [call.operator for call in read(tmp_path / "c.jsonl").calls]
