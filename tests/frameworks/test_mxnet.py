"""MXNet in an environment of its own, built when it is first needed."""

from __future__ import annotations

import subprocess

from tests.late import needs

from opbench.define.program import Tensor

needs("torch")


def test_it_agrees_with_torch_in_every_stage(cases, outcomes, mxnet):
    stages = ("forward", "backward", "forward_backward")
    assert set(outcomes(cases("torch", "mxnet", stages=stages)).values()) == {"agrees"}


def test_gluon_losses_and_lists_go_backward(cases, outcomes, mxnet):
    inputs = (Tensor("a", (6, 4), grad=True), Tensor("b", (6, 4)))
    spelled = {
        "torch": "y = 0.5 * torch.square(a - b).mean(1)",
        "mxnet": "y = mx.gluon.loss.L2Loss()(a, b)",
    }
    both = {"stages": ("forward_backward",), "inputs": inputs}
    found = outcomes(cases("torch", "mxnet", spelled=spelled, **both))
    assert set(found.values()) == {"agrees"}
    spelled = {"torch": "y = torch.split(a, 3)", "mxnet": "y = nd.split(a, 2, axis=0)"}
    both["inputs"] = inputs[:1]
    found = outcomes(cases("torch", "mxnet", spelled=spelled, several=True, **both))
    assert set(found.values()) == {"agrees"}


def test_a_statement_ends_when_its_result_is_there(cases):
    (case,) = cases("mxnet")
    assert case.stmt.splitlines()[-1] == "nd.waitall()"


def test_a_run_measures_it_in_its_environment_and_its_memory_is_the_peak_in_bytes(
    cases, measure, mxnet
):
    inputs = (Tensor("a", (256, 1024)), Tensor("b", (256, 1024)))
    found = cases("mxnet", spelled={"mxnet": "y = nd.broadcast_add(a, b)"}, inputs=inputs)
    results = measure(found, ("time", "memory"))
    assert results["mxnet", "forward", "time"].ok
    assert results["mxnet", "forward", "time"].environment == "mxnet"
    memory = results["mxnet", "forward", "memory"]
    assert memory.ok, memory.reason
    assert memory.estimate == 256 * 1024 * 4
    assert memory.detail["components"] == {"a": 256 * 1024 * 4, "b": 256 * 1024 * 4}


def test_without_a_gpu_build_a_gpu_is_unsupported(cases, outcomes, mxnet):
    (outcome,) = outcomes(cases("mxnet", device="cuda")).values()
    assert outcome == "unsupported: this build of MXNet has no GPU"


def test_products_and_factorisations_give_the_right_numbers(mxnet, tmp_path):
    """On aarch64 they are OpenBLAS's, behind functions that Arm's libraries would have."""
    program = tmp_path / "check.py"
    program.write_text(CHECK)
    done = subprocess.run([mxnet.python, str(program)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    errors = dict(line.split() for line in done.stdout.splitlines())
    assert len(errors) == 8
    assert all(float(error) < 1e-8 for error in errors.values()), errors


CHECK = """
import mxnet as mx, numpy as np
from mxnet import nd

rng = np.random.default_rng(0)
a, b = rng.standard_normal((30, 20)), rng.standard_normal((20, 10))
x = rng.standard_normal((2, 16, 16))
spd = x @ x.swapaxes(-1, -2) / 16 + np.eye(16)
of = lambda array: nd.array(array, dtype="float64")
lower = np.linalg.cholesky(spd)

def check(name, found, expected):
    print(name, abs(found.asnumpy() - expected).max())

check("dot", nd.dot(of(a), of(b)), a @ b)
check("potrf", nd.linalg.potrf(of(spd)), lower)
check("inverse", nd.linalg.inverse(of(spd)), np.linalg.inv(spd))
check("syevd", nd.linalg.syevd(of(spd))[1], np.linalg.eigvalsh(spd))
check("syrk", nd.linalg.syrk(of(spd)), spd @ spd)
check("trsm", nd.linalg.trsm(of(lower), of(spd)), np.linalg.solve(lower, spd))
check("batch_dot", nd.batch_dot(of(spd), of(spd)), spd @ spd)
image, kernel = rng.standard_normal((2, 3, 8, 8)), rng.standard_normal((4, 3, 3, 3))
expected = sum(
    np.einsum("nchw,fc->nfhw", image[:, :, i:i + 6, j:j + 6], kernel[:, :, i, j])
    for i in range(3) for j in range(3)
)
found = nd.Convolution(of(image), of(kernel), kernel=(3, 3), num_filter=4, no_bias=True)
check("convolution", found, expected)
"""
