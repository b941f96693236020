"""A notebook runs as a script does."""

from __future__ import annotations

import json

from opbench.capture.notebook import cells_of, run_notebook


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
