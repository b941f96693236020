"""`opbench ops` and `opbench run ops` from the shell: a mistake is reported in one line."""

from __future__ import annotations

import re

import pytest


def test_an_operator_is_shown_with_sizes_work_and_spellings(opbench_here):
    output = opbench_here("ops", "Multiply").stdout
    assert output.startswith("mul (binary)\n")
    assert "typical  lhs=(1024, 1024), rhs=(1024, 1024)   1.05e+06 FLOP, 1.26e+07 bytes" in output
    assert "jax            y = jnp.multiply(lhs, rhs)" in output
    assert "dtypes   float32, float64, float16, bfloat16, int32, int64, int8, complex64\n" in output


def test_a_category_is_listed_by_framework(opbench_here):
    lines = opbench_here("ops", "--category", "rnn").stdout.splitlines()
    assert [line.split() for line in lines if "LSTM" in line] == [
        ["LSTM", "rnn", "fwd+bwd", "fwd", "fwd+bwd"]
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ops", "softmx"), "unknown operator 'softmx'; did you mean softmax"),
        (("ops", "--category", "rn"), "unknown category 'rn'; did you mean rnn"),
        (("run", "ops", "-a", "op=softmx"), "unknown op 'softmx'; did you mean"),
        (("run", "ops", "-a", "framework=tensorflow"), "unknown framework 'tensorflow'"),
        (("run", "ops", "-a", "size=huge"), "unknown size 'huge'"),
        (
            ("report", "ops", "-f", "xml"),
            "unknown format 'xml'; choose from: terminal, md, csv, json",
        ),
    ],
)
def test_mistakes_are_one_line_and_code_2(opbench_here, words, message):
    done = opbench_here(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_axes_choose_what_would_run(opbench_here):
    output = opbench_here(
        "run", "ops", "--dry-run", "-a", "category=powers", "-a", "framework=torch,numpy"
    ).stdout
    assert output.splitlines()[:4] == [
        "ops/sqrt[framework=torch,size=typical,dtype=float32]/forward_backward",
        "ops/sqrt[framework=numpy,size=typical,dtype=float32]/forward",
        "ops/square[framework=torch,size=typical,dtype=float32]/forward_backward",
        "ops/square[framework=numpy,size=typical,dtype=float32]/forward",
    ]


def test_a_framework_without_the_usual_dtype_has_its_own_unless_dtypes_are_asked_for(opbench_here):
    """MXNet has no logic of truth values."""
    words = ("list", "ops", "-a", "op=logical_and", "-a", "framework=torch,mxnet")
    usual = opbench_here(*words).stdout.splitlines()
    assert [line.rpartition("dtype=")[2] for line in usual] == ["bool]/forward", "float32]/forward"]
    assert len(opbench_here(*words, "-a", "dtype=bool,float32").stdout.splitlines()) == 4


def test_by_default_it_is_all_of_torch_in_float32_at_typical_sizes(opbench_here):
    from opbench.suites.ops.catalogue import catalogue

    lines = opbench_here("run", "ops", "--dry-run").stdout.splitlines()
    cases = [line for line in lines if line.startswith("ops/")]
    assert all("framework=torch,size=typical,dtype=" in line for line in cases)
    torch = {name for name, each in catalogue().items() if "torch" in each.spelling}
    assert {line[4:].partition("[")[0] for line in cases} == torch
    others = [line for line in cases if "dtype=float32" not in line]
    assert "ops/logical_and[framework=torch,size=typical,dtype=bool]/forward" in others
    assert len(others) < 40
    assert "ops/add[framework=torch,size=typical,dtype=float32]/forward_backward" in cases
    assert "ops/iadd[framework=torch,size=typical,dtype=float32]/forward" in cases


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (("-a", "op=dot", "-a", "lhs=512x64", "-a", "rhs=64x512"), "lhs=512x64,rhs=64x512"),
        (("-a", "op=dot", "-a", "m=1", "-a", "k=8", "-a", "n=4"), "m=1,k=8,n=4"),
        (("-a", "op=softmax", "-a", "axis=0"), "axis=0"),
        (("-a", "op=exp", "-a", "layout=transposed"), "layout=transposed"),
    ],
)
def test_shapes_and_options_are_given_on_the_command_line(opbench_here, words, id):
    (line,) = opbench_here("list", "ops", *words).stdout.splitlines()
    assert f"[framework=torch,size=typical,dtype=float32,{id}]" in line
    shown = opbench_here("show", line)
    assert shown.returncode == 0, shown.stderr
    assert "statement, timed" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("-a", "op=dot", "-a", "lhs=512x64", "-a", "rhs=32x512"),
            "dot: rhs=32x512 does not fit: lhs is m x k, rhs is k x n; rhs=64x512 would",
        ),
        (("-a", "op=add", "-a", "lhs=4x3", "-a", "rhs=3x4"), "rhs=4x3 would fit"),
        (("-a", "op=add", "-a", "lhs=big"), "lhs takes a shape such as 1024x1024, not 'big'"),
        (("-a", "op=Conv2D", "-a", "data=3x8x8"), "as many sides as data=32x3x256x256"),
        (("-a", "op=softmax", "-a", "axis=x"), "softmax: axis takes a whole number, not 'x'"),
        (("--shapes", "none.csv"), "lists that ship: broadcasting, empty, gemm, huge,"),
        (
            ("-a", "op=exp", "--shapes", "gemm"),
            "exp does not take m, n, k, which the shapes give; these do: dot, batch_dot,",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused_in_one_line(opbench_here, words, message):
    done = opbench_here("list", "ops", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_table_of_shapes_is_a_point_for_each_row(opbench_here, tmp_path, between):
    table = tmp_path / "mine.csv"
    text = "# sizes of mine\nm,n,k\n2,3,4\n5,6,7\n".replace(",", between)
    table.write_text(text, encoding="utf-8")
    words = ("list", "ops", "-a", "op=dot", "--shapes", str(table))
    assert opbench_here(*words).stdout.splitlines() == [
        f"ops/dot[framework=torch,size=typical,dtype=float32,{each}]/forward_backward"
        for each in ("m=2,k=4,n=3", "m=5,k=7,n=6")
    ]


def test_spaces_and_rows_that_stand_twice_do_not_matter(opbench_here, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_bytes(b"\xef\xbb\xbfm, n ,k \r\n2,3,4\r\n2, 3,4\r\n5,6 ,7\r\n")
    done = opbench_here("list", "ops", "-a", "op=dot", "--shapes", str(table))
    found = [line.rpartition("float32,")[2] for line in done.stdout.splitlines()]
    assert found == ["m=2,k=4,n=3]/forward_backward", "m=5,k=7,n=6]/forward_backward"]


def test_threads_are_a_column_and_an_axis_too(opbench_here, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("threads,lhs\n1,8x8\n2,8x8\n", encoding="utf-8")
    for words in (("--shapes", str(table)), ("-a", "threads=1,2", "-a", "lhs=8x8")):
        done = opbench_here("list", "ops", "-a", "op=add", *words)
        assert done.returncode == 0, done.stderr
        found = [re.search(r"threads=\d", line).group() for line in done.stdout.splitlines()]
        assert found == ["threads=1", "threads=2"]


def test_the_lists_that_ship_are_tables_too(opbench_here):
    for name in ("gemm", "broadcasting", "layouts", "odd", "empty", "huge"):
        more = ("-a", "op=dot") if name == "gemm" else ()
        done = opbench_here("list", "ops", *more, "--shapes", name)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) > 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m,n,k\n2,3,4\n2,x,4\n", "row 2 of the shapes: axis 'n' takes a whole number, not 'x'"),
        ("lhs,rhs\n2x3,3x4\n2x3,4x4\n", "row 2 of the shapes: dot: rhs=4x4 does not fit"),
        ("m,m,k\n1,2,3\n", "column 'm' is there twice"),
        ("m,n,k\n2,3\n", "row 1 has more or fewer values than the header has columns"),
        ("m,q\n2,3\n", "unknown axis 'q'; choose from: op, category, framework, size, dtype, lhs,"),
    ],
)
def test_a_table_that_is_not_understood_is_refused_in_one_line(opbench_here, tmp_path, text, says):
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    done = opbench_here("list", "ops", "-a", "op=dot", "--shapes", str(tmp_path / "mine.csv"))
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_only_axes_of_the_chosen_operators_are_named(opbench_here):
    done = opbench_here("list", "ops", "-a", "op=dot", "-a", "q=3")
    assert done.returncode == 2
    assert "lhs, rhs, m, k, n, layout, threads, device, stage" in done.stderr
    assert "kernel_size" not in done.stderr


def test_of_a_table_only_the_rows_that_are_asked_for(opbench_here):
    words = ("list", "ops", "--shapes", "empty", "-a")
    (line,) = opbench_here(*words, "op=exp").stdout.splitlines()
    assert "ops/exp[" in line
    refused = opbench_here(*words, "op=tan")
    assert refused.returncode == 2
    assert "no row of the shapes has the values that -a asks for" in refused.stderr


def test_shapes_are_measured_and_stored_with_the_run(opbench_here):
    quick = ("--num-runs", "1", "--num-repeats", "2")
    done = opbench_here("run", "ops", "--shapes", "empty", "-a", "framework=numpy", *quick)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = opbench_here("report", "ops", "-f", "csv").stdout
    assert "lhs=0x64, rhs=64x64" in shown


def test_frameworks_say_what_they_lack_and_notes_what_a_time_means(opbench_here):
    assert "this call writes none of them" in opbench_here("ops", "zeros").stdout
    assert (
        "emulated: several operators stand for one that it lacks"
        in opbench_here("ops", "lamb").stdout
    )


def test_benchmarks_of_others_keep_those_that_lack_an_axis(opbench_here, tmp_path):
    """Beside operators, or alone, a file is not narrowed by what operators take."""
    (tmp_path / "bench_two.py").write_text(
        "import opbench as ob\n\n"
        "@ob.bench(axes={'rank': [4, 16]})\ndef sized(rank):\n    return [*range(rank)]\n\n"
        "@ob.bench\ndef plain():\n    return 1\n"
    )
    done = opbench_here("list", "bench_two.py", "-a", "rank=4")
    assert done.stdout.split() == ["bench_two/sized[rank=4]/call", "bench_two/plain/call"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--uncovered", "softmax"), "operator softmax cannot narrow it; --framework does"),
        (("--uncovered", "--category", "rnn"), "category rnn cannot narrow it; --framework does"),
        (
            ("softmax", "--framework", "jax"),
            "--framework narrows the list: give it, or an operator",
        ),
    ],
)
def test_what_would_be_ignored_is_refused(opbench_here, words, says):
    done = opbench_here("ops", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
