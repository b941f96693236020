"""`opbench ops` and `opbench run ops` from the shell: a mistake is reported in one line."""

from __future__ import annotations

import pytest


def test_an_operator_is_shown_with_sizes_work_and_spellings(opbench_here):
    output = opbench_here("ops", "Multiply").stdout
    assert output.startswith("mul (binary)\n")
    assert "typical  lhs=(1024, 1024), rhs=(1024, 1024)   1.05e+06 FLOP, 1.26e+07 bytes" in output
    assert "jax            y = jnp.multiply(lhs, rhs)" in output


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


def test_by_default_it_is_all_of_torch_in_float32_at_typical_sizes(opbench_here):
    from opbench.suites.ops.catalogue import catalogue

    lines = opbench_here("run", "ops", "--dry-run").stdout.splitlines()
    cases = [line for line in lines if line.startswith("ops/")]
    assert all("framework=torch,size=typical,dtype=float32" in line for line in cases)
    assert {line[4:].partition("[")[0] for line in cases} == set(catalogue())
    assert "ops/add[framework=torch,size=typical,dtype=float32]/forward_backward" in cases
    assert "ops/iadd[framework=torch,size=typical,dtype=float32]/forward" in cases
