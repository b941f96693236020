"""`opbench peaks`, then a roofline: measured, kept, and set against what operators achieve."""

from __future__ import annotations

import csv
import io

import pytest


@pytest.fixture
def command(opbench_here):
    def call(*words: str, code: int = 0):
        done = opbench_here(*words)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


def test_limits_are_measured_stored_and_shown_with_operators(command, tmp_path):
    quick = ("--framework", "numpy", "--threads", "1", "--n", "64", "--precision", "50%")

    def roofline():
        done = command("report", "roofline", "-f", "csv")
        found = csv.DictReader(io.StringIO(done.stdout))
        return {row["case"].partition("[")[0]: row for row in found}, done.stderr

    shown = command("peaks", *quick, "--dtype", "float64").stdout
    assert "float64" in shown
    assert "copy" in shown
    command(
        *("run", "ops", "-a", "op=exp,dot", "-a", "framework=numpy", "-a", "size=small"),
        *("--num-runs", "1", "--num-repeats", "5"),
    )
    rows, said = roofline()
    assert {row["bound"] for row in rows.values()} == {""}, "they compute in float32"
    assert said.strip() == "limits of this machine are unknown; measure them: opbench peaks"
    command("peaks", *quick, "--dtype", "float32")
    rows, said = roofline()
    assert set(rows) == {"ops/exp", "ops/dot"}
    for row in rows.values():
        assert float(row["flops_per_second"]) > 0
        assert float(row["bytes_per_second"]) > 0
        assert row["bound"] in ("memory", "arithmetic")
        assert float(row["share"]) > 0
    assert said == ""
    done = command("report", "roofline", "--chart", "chart.svg")
    assert "limits (cpu, 1 thread" in done.stdout
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("report", "roofline", "--chart", "x.jpg"), "a chart is written as .png, .svg, .html"),
        (("report", "roofline", "-f", "xml"), "unknown format 'xml'"),
        (("peaks", "--threads", "none"), "threads must be a whole number"),
        (("peaks", "--framework", "tensorflow"), "unknown framework 'tensorflow'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(command, words, says):
    done = command(*words, code=2)
    assert done.stderr.startswith("opbench: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
