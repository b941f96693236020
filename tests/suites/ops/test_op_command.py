"""`opbench op`: one operator at once."""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile

import pytest

from opbench.define import points
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.op_command import common_stage, rows_of


def table(output: str) -> list[str]:
    """Its heading and rows. What stands below it (why intervals are wide, say) depends on what the
    machine did during the run."""
    lines = dropwhile(lambda line: not line.strip(), output.splitlines())
    heading, _, *rows = takewhile(str.strip, lines)
    return [heading, *rows]


def test_one_operator_is_measured_without_a_store(opbench_here, own_pool, tmp_path):
    arguments = ("--framework", "numpy", "-a", "size=small", "--stage", "forward")
    done = opbench_here("op", "Add", *arguments, "--max-time-per-case", "0.2s")
    assert done.returncode == 0, done.stderr
    heading, row = table(done.stdout)
    assert heading.split() == ["numpy"]
    assert re.search(r"size=small, dtype=float32 +[\d.]+ .s ± ", row)
    assert not (tmp_path / ".opbench").exists()
    assert "numpy" in opbench_here("workers").stdout


def test_mistakes_are_one_line(opbench_here, own_pool):
    done = opbench_here("op", "ad")
    assert done.returncode == 2
    assert done.stderr.startswith("opbench: unknown operator 'ad'; did you mean")
    done = opbench_here("op", "zzzzqq")
    assert done.stderr == "opbench: unknown operator 'zzzzqq'; opbench ops lists them\n"
    for nothing in ("", " "):
        done = opbench_here("op", nothing)
        assert done.returncode == 2
        assert done.stderr == (
            "opbench: name an operator, for example: opbench op add (opbench ops lists them)\n"
        )
    done = opbench_here("op", "add", "--framework", "numpi")
    assert done.returncode == 2
    assert done.stderr.startswith("opbench: unknown framework 'numpi'; did you mean numpy")


QUICK = ("-a", "size=small", "--max-time-per-case", "0.2s")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("Add,softmax",),
            "opbench op measures one operator; for several: opbench run ops -a op=add,softmax",
        ),
        (("dot", "-a", "op=add"), "two operators are given: dot, and -a op=add; "),
        (
            ("add", "--framework", "jax", "-a", "framework=numpy"),
            "framework is given twice: jax, and numpy as an axis",
        ),
        (("dot", "-a", "axis=3"), "dot: unknown axis 'axis'; choose from: op, category, "),
        (("add", "--shapes", "gemm"), "add: unknown axis 'm'; "),
        (
            ("BatchNorm", "-a", "dtype=int32"),
            "BatchNorm does not take int32; choose from: float32, ",
        ),
        (("add", "-a", "layout=channels_last"), "add: layout=channels_last needs a tensor of 4"),
    ],
)
def test_what_contradicts_the_operator_is_refused(opbench_here, words, says):
    done = opbench_here("op", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"opbench: {says}")
    assert len(done.stderr.splitlines()) == 1


def test_an_axis_is_the_same_as_its_option(opbench_here, own_pool):
    words = ("-a", "op=Add", "-a", "framework=numpy", "-a", "stage=forward", "-a", "device=cpu")
    done = opbench_here("op", "add", *words, *QUICK, "-a", "dtype=float64")
    assert done.returncode == 0, done.stderr
    heading, row = table(done.stdout)
    assert heading.split() == ["numpy"]
    assert "size=small, dtype=float64 " in row


def test_shapes_come_from_a_table(opbench_here, own_pool, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("m,n,k\n2,3,4\n", encoding="utf-8-sig")
    done = opbench_here("op", "dot", "--framework", "numpy", "--shapes", str(table), *QUICK)
    assert done.returncode == 0, done.stderr
    assert "m=2, k=4, n=3 " in done.stdout


@pytest.mark.parametrize(
    ("name", "frameworks", "stage", "forward_only"),
    [
        ("exp", ["torch", "jax"], "forward_backward", []),
        ("exp", ["torch", "onnxruntime", "jax", "numpy"], "forward", ["onnxruntime", "numpy"]),
        ("exp", ["onnxruntime", "numpy"], "forward", []),
        ("greater", ["torch", "numpy"], "forward", []),
        # NumPy has no such operator, and nothing would be compared with it.
        ("GroupNorm", ["torch", "numpy"], "forward_backward", []),
        ("GroupNorm", ["numpy"], "", []),
    ],
)
def test_frameworks_are_compared_at_a_stage_that_all_have(name, frameworks, stage, forward_only):
    assert common_stage(catalogue()[name], frameworks) == (stage, forward_only)


def test_a_framework_without_the_operator_has_its_column_too(opbench_here, own_pool):
    words = ("op", "erfinv", "--framework", "torch,numpy,jax", "-a", "data=8x8", *QUICK)
    done = opbench_here(*words)
    heading, row = table(done.stdout)
    assert heading.split() == ["forward_backward", "torch", "numpy", "jax"]
    assert re.search(r"% +unsupported +\S", row)
    assert done.stdout.count("unsupported: numpy has no operator erfinv\n") == 1


@pytest.mark.parametrize(
    ("name", "listed", "sides"),
    [
        ("add", "empty", [{"lhs": "0x1024", "rhs": "0x1024"}]),
        ("LayerNorm", "odd", [{"data": "333x769"}]),
        ("relu", "huge", [{"data": "46341x46341", "dtype": "float16"}]),
    ],
)
def test_of_a_table_for_several_operators_the_rows_of_this_one_count(name, listed, sides):
    rows = rows_of(catalogue()[name], points.read(listed))
    assert [{axis: row[axis] for axis in row if axis != "op"} for row in rows] == sides
    # Without a column for the name, every row is of every operator.
    assert rows_of(catalogue()[name], sides) == sides


def test_a_table_for_other_operators_is_refused(opbench_here):
    done = opbench_here("op", "Conv2D", "--shapes", "empty")
    assert done.returncode == 2
    assert done.stderr == (
        "opbench: no row of the shapes is of Conv2D; they are of exp, relu, add, dot, identity\n"
    )


def test_a_framework_without_gradients_stands_beside_the_others(opbench_here, own_pool):
    done = opbench_here("op", "exp", "--framework", "torch,numpy", *QUICK)
    assert done.stderr.startswith("forward only: numpy: no backward pass\n")
    heading = next(line for line in done.stdout.splitlines() if line.strip())
    assert heading.split() == ["torch", "numpy"]


def test_a_failure_is_printed_once(opbench_here, own_pool):
    done = opbench_here("time", "1/0", "--max-time-per-case", "0.2s")
    assert done.stdout.count("ZeroDivisionError") == 1
    assert "ZeroDivisionError" not in done.stderr


@pytest.mark.slow
def test_frameworks_stand_side_by_side(opbench_here, own_pool):
    done = opbench_here("op", "add", "--framework", "torch,numpy", "-a", "size=small")
    assert done.returncode == 0, done.stderr
    heading, row = table(done.stdout)
    assert heading.split() == ["torch", "numpy"]
    assert re.search(r"(slower|faster|same|unknown)", row)
