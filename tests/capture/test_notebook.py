"""A notebook runs as a script does."""

from __future__ import annotations

import json

from opbench.capture.launch import cells_of, run_notebook


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
