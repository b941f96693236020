"""`opbench peaks`, then a roofline: measured, kept, and set against what operators achieve."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import pytest


def opbench(*words: str, folder, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "opbench.cli.main", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_limits_are_measured_kept_and_shown_beside_operators(tmp_path):
    quick = ("--framework", "numpy", "--threads", "1", "--dtype", "float32", "--n", "64,256")
    shown = opbench("peaks", *quick, "--precision", "50%", folder=tmp_path).stdout
    assert "float32" in shown
    assert "copy" in shown
    opbench(
        *("run", "ops", "-a", "op=exp,dot", "-a", "framework=numpy", "-a", "size=small"),
        *("--num-runs", "2", "--num-repeats", "5"),
        folder=tmp_path,
    )
    table = opbench("report", "roofline", "-f", "csv", folder=tmp_path).stdout
    rows = {row["case"].partition("[")[0]: row for row in csv.DictReader(io.StringIO(table))}
    assert set(rows) == {"ops/exp", "ops/dot"}
    for row in rows.values():
        assert float(row["flops_per_second"]) > 0
        assert float(row["bytes_per_second"]) > 0
        assert row["bound"] in ("memory", "arithmetic")
        assert float(row["share"]) > 0
    done = opbench("report", "roofline", "--chart", "chart.svg", folder=tmp_path)
    assert "limits (cpu, 1 thread" in done.stdout
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("report", "roofline", "--chart", "x.jpg"), "a chart is written as .png, .svg, .html"),
        (("report", "roofline", "-f", "xml"), "unknown format 'xml'"),
        (("peaks", "--threads", "none"), "threads must be a whole number"),
        (("peaks", "--framework", "tensorflow"), "axis 'framework' has no value 'tensorflow'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(tmp_path, words, says):
    done = opbench(*words, folder=tmp_path, code=2)
    assert done.stderr.startswith("opbench: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
