"""The same operator in every framework: one input, equal outputs and gradients, then times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opbench.define.program import Tensor, integers
from opbench.report.script import script

HERE = ("torch", "jax", "onnxruntime", "numpy")


@pytest.fixture(autouse=True)
def _installed():
    for module in ("torch", "jax", "onnxruntime", "onnx"):
        pytest.importorskip(module)


def test_a_run_compares_and_then_measures_all_of_them(cases, measure):
    results = measure(cases(*HERE))
    assert {name: one.outcome_text for (name, _, _), one in results.items()} == dict.fromkeys(
        HERE, "ok"
    )


def test_all_stages_agree_and_what_a_framework_cannot_do_is_said(cases, outcomes):
    stages = ("forward", "backward", "forward_backward")
    assert outcomes(cases(*HERE, stages=stages)) == {
        **{(name, stage): "agrees" for name in ("torch", "jax") for stage in stages},
        ("onnxruntime", "forward"): "agrees",
        ("numpy", "forward"): "agrees",
        **{
            ("onnxruntime", stage): "unsupported: onnxruntime runs inference only: it "
            "does not compute gradients"
            for stage in stages[1:]
        },
        **{("numpy", s): "unsupported: numpy does not compute gradients" for s in stages[1:]},
    }


def test_a_spelling_that_computes_something_else_is_a_mismatch(cases, outcomes):
    spelled = {
        "torch": "y = torch.tanh(torch.mm(a, b))",
        "jax": "y = jnp.sin(jnp.matmul(a, b))",
        "onnxruntime": "y = MatMul(a, b)",
        "numpy": "y = np.tanh(np.matmul(a, b)).T",
    }
    found = outcomes(cases(*HERE, spelled=spelled))
    assert found.pop(("torch", "forward")) == "agrees"
    for outcome in found.values():
        assert outcome.startswith("mismatch: differs from torch: y: it")


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_dtypes_agree_or_say_that_they_are_not_there(cases, outcomes, dtype):
    found = {name: outcome for (name, _), outcome in outcomes(cases(*HERE, dtype=dtype)).items()}
    lacking = {
        name: f"unsupported: bfloat16 is not measured in {name}"
        for name in ("onnxruntime", "numpy")
    }
    assert found == {**dict.fromkeys(HERE, "agrees"), **(lacking if dtype == "bfloat16" else {})}


def test_integers_are_whole_numbers_everywhere(cases, outcomes):
    inputs = tuple(Tensor(name, (4, 3), "int64", integers(-50, 50)) for name in "ab")
    spelled = {
        "torch": "y = torch.mul(a, b)",
        "jax": "y = jnp.multiply(a, b)",
        "onnxruntime": "y = Mul(a, b)",
        "numpy": "y = np.multiply(a, b)",
    }
    found = outcomes(cases(*HERE, spelled=spelled, inputs=inputs, dtype="int64"))
    assert set(found.values()) == {"agrees"}


def test_results_that_are_several_tensors_go_backward_from_all_of_them(cases, outcomes):
    found = cases(
        "torch",
        "jax",
        spelled={"torch": "y = torch.split(a, 3)", "jax": "y = jnp.split(a, 2)"},
        inputs=(Tensor("a", (6, 4), grad=True),),
        several=True,
        stages=("backward", "forward_backward"),
    )
    assert set(outcomes(found).values()) == {"agrees"}


def test_a_loss_needs_no_gradient_from_outside(cases, outcomes):
    found = cases(
        "torch",
        "jax",
        spelled={"torch": "y = torch.mean(a * a)", "jax": "y = jnp.mean(a * a)"},
        inputs=(Tensor("a", (6, 4), grad=True),),
        scalar=True,
        stages=("forward_backward",),
    )
    assert set(outcomes(found).values()) == {"agrees"}


def test_on_a_device_that_is_not_there_a_framework_says_so(cases, outcomes):
    found = {n: outcome for (n, _), outcome in outcomes(cases(*HERE[1:], device="cuda")).items()}
    assert found["onnxruntime"] == "unsupported: onnxruntime has no device cuda"
    assert found["numpy"] == "unsupported: numpy has no device cuda"
    assert found["jax"] == "agrees" or found["jax"].startswith("unsupported: jax has no cuda here")


@pytest.mark.parametrize("framework", ["jax", "onnxruntime"])
def test_a_case_is_a_script_that_needs_no_opbench(cases, framework, tmp_path):
    (case,) = cases(framework)
    text = script(case).replace("WARM_UP_S, MEASURE_S = 5_000_000, 0.3, 2.0", "W, M = 1, 0, 0")
    quick = text.replace("BLOCK_NS, W, M", "BLOCK_NS, WARM_UP_S, MEASURE_S")
    assert quick != text, "the constants are called something else now"
    file = tmp_path / "case.py"
    file.write_text(quick)
    done = subprocess.run([sys.executable, "-I", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("median_seconds ")
    assert "opbench" not in [line.split()[1] for line in text.splitlines() if "import " in line]


@pytest.mark.usefixtures("mxnet")
def test_memory_of_forward_and_backward_is_output_and_gradient_in_every_framework(cases, measure):
    """`exp` of a tensor makes one for its result and one for the gradient, and nothing else."""
    inputs = (Tensor("a", (256, 1024), grad=True),)
    names = {"torch": "torch", "jax": "jnp", "mxnet": "nd"}
    spelled = {framework: f"y = {module}.exp(a)" for framework, module in names.items()}
    found = cases(*names, spelled=spelled, inputs=inputs, stages=("forward_backward",))
    results = measure(found, ("memory",))
    for framework in names:
        memory = results[framework, "forward_backward", "memory"]
        assert memory.ok, memory.reason
        assert memory.estimate == 2 * 256 * 1024 * 4, framework
