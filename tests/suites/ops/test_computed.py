"""What entries compute: every option acts, and frameworks agree at each of its settings."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.suites.ops.inprocess import HERE, called, case_of, check_all, computed, prepared
from tests.suites.ops.settings import options, second

from opbench import frameworks
from opbench.running.agreement import Output, disagreement
from opbench.suites.ops.catalogue import catalogue, find
from opbench.suites.ops.programs import program

pytest.importorskip("torch")
pytest.importorskip("jax")

#: Of random values these are the same along either side of a square.
CONSTANT = ("any", "all", "count_nonzero")
#: At the usual settings, once for all options of an entry.
computed_as_usual = functools.cache(computed)


def by_category(pairs):
    found = {}
    for operator, option in pairs:
        if set(HERE) & set(operator.spelling):
            found.setdefault(operator.category, []).append((operator, option))
    return pytest.mark.parametrize("pairs", found.values(), ids=found)


@by_category(options())
def test_every_option_acts_and_frameworks_agree_at_two_settings_of_it(pairs):
    def check(pair):
        operator, option = pair
        able = [each for each in HERE if each in operator.spelling]
        size = "skewed" if operator.name in CONSTANT else "small"
        changed = second(operator, option)
        outputs = {each: computed(operator.name, each, size, **changed) for each in able}
        for framework, found in outputs.items():
            usual = computed_as_usual(operator.name, framework, size)
            assert differ(usual, found, operator.parity), f"{option} does nothing in {framework}"
            if operator.parity not in ("", "shape"):
                assert_agree(computed_as_usual(operator.name, able[0], size), usual, operator)
                assert_agree(outputs[able[0]], found, operator)

    check_all(pairs, check, lambda pair: f"{pair[0].name} {pair[1]}")


def differ(usual, changed, parity):
    """Whether another value of an option made another result, of random ones another kind."""
    if [each.shape for each in usual] != [each.shape for each in changed]:
        return True
    if parity == "statistics":
        return any(map(unlike, usual, changed))
    return any(a.dtype != b.dtype or not np.array_equal(a, b) for a, b in zip(usual, changed))


def unlike(a, b):
    outputs = (Output("y", str(each.dtype), each.shape, each.reshape(-1)) for each in (a, b))
    return disagreement(*outputs, "statistics")


def assert_agree(expected, found, operator):
    assert [each.shape for each in expected] == [each.shape for each in found]
    if operator.parity == "statistics":
        assert not any(map(unlike, expected, found))
        return
    for a, b in zip(expected, found):
        a, b = a.astype("float64"), b.astype("float64")
        close = np.isclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(a).max(initial=0))))
        assert close.mean() > (0.98 if operator.parity == "ties" else 1 - 1e-9)


def test_a_copy_to_numpy_is_one_in_every_framework():
    for framework in HERE:
        names = called(case_of("copyto_asnumpy", framework))
        assert type(names["y"]) is np.ndarray, framework
        assert not np.shares_memory(names["y"], np.asarray(names["data"])), framework


def test_the_dtype_of_the_label_is_what_is_computed():
    for framework, dtype in (("torch", "int64"), ("jax", "int64"), ("jax", "float32"),
                             ("numpy", "float32")):  # fmt: skip
        names = called(case_of("one_hot", framework, dtype=dtype))
        assert str(names["y"].dtype).removeprefix("torch.") == dtype, framework
    assert case_of("one_hot", "torch", dtype="float32").unsupported
    assert find("logical_and").default_dtype == find("nonzero").default_dtype == "bool"


def test_jax_computes_in_64_bits_only_where_the_label_says_so():
    wrong = []
    for operator in catalogue().values():
        if "jax" in operator.spelling:
            axes = {"form": "fused"} if operator.parts else {}
            case = case_of(operator.name, "jax", **axes)
            wide = "jax_enable_x64" in case.globals
            if wide and case.dtype not in ("int64", "float64"):
                wrong.append(operator.name)
    assert wrong == []


SWITCHES = """
import json, resource, sys
case = json.load(sys.stdin)
names = {"seed": 0}
exec(case["globals"], names)
exec(case["setup"], names)
code = compile(case["stmt"], "case", "exec")
for _ in range(5):
    exec(code, names)
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
for _ in range(200):
    exec(code, names)
print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before)
"""


def test_a_call_of_jax_computes_on_the_thread_that_makes_it():
    """On a pool's thread every call waits to be woken: a voluntary switch for each of them."""
    case = case_of("mul", "jax", lhs="512x512")
    done = subprocess.run(
        [sys.executable, "-c", SWITCHES],
        input=json.dumps(case.to_dict()),
        capture_output=True,
        text=True,
        env={**os.environ, "NPROC": "1"},
        check=True,
    )
    assert int(done.stdout) < 50


@pytest.mark.parametrize("name", ["conv_batchnorm_relu", "LSTM", "FullyConnected", "Embedding"])
def test_onnx_runtime_is_given_data_and_has_the_weights_in_its_model(name):
    pytest.importorskip("onnxruntime")
    axes = {"form": "fused"} if catalogue()[name].parts else {}
    names = prepared(case_of(name, "onnxruntime", **axes))
    assert [each.name for each in names["session"].get_inputs()] == ["data"]
    assert {node.op_type for node in names["graph"].node} & {"Split", "Concat"} == set()


def test_names_of_operators_are_those_operators():
    for name in ("gather", "scatter_add", "qr", "index_add", "index_select"):
        assert f"{name}(" in find(name).call("torch").text
    for name in ("elemwise_add", "elemwise_div"):
        assert find(name).call("mxnet").text == f"nd.{name}(lhs, rhs)"
    assert "torch" not in catalogue()["SVMOutput"].spelling
    assert not catalogue()["khatri_rao"].call("mxnet").differentiable
    for name in ("lamb", "ftrl", "SequenceMask"):
        assert catalogue()[name].call("torch").emulated
        assert not catalogue()[name].call("mxnet").emulated


#: More than one call, and still the operator: views and conversions of what it takes or gives, a
#: mean or sum of what it gives, the half of a loss that another framework's operator computes too.
ONE = {
    "random_exponential", "sample_normal", "sample_poisson", "aminmax", "copyto_asnumpy", "CTCLoss",
    "KLDiv", "GridGenerator", "BatchNorm", "softmax_cross_entropy", "smooth_l1",
}  # fmt: skip


@pytest.mark.parametrize("framework", ["torch", "mxnet"])
def test_what_takes_several_operators_is_marked_as_emulated(framework):
    """Where nothing is compiled; fused entries say themselves how they are joined."""
    unmarked = []
    for operator in catalogue().values():
        call = operator.call(framework)
        if call is None or operator.parts or operator.category in ("aten", "gluon", "optimizer"):
            continue
        if call.emulated or operator.name in ONE or (framework, operator.category) == (
            "mxnet", "loss",
        ):  # fmt: skip
            continue
        text = program(operator, frameworks.get(framework), operator.values(), "cpu").forward
        nodes = ast.walk(ast.parse(text))
        if sum(isinstance(node, (ast.Call, ast.BinOp)) for node in nodes) > 1:
            unmarked.append(operator.name)
    assert unmarked == []
    assert catalogue()["linalg_gelqf"].call("torch").emulated, "qr of a transpose"


def test_weights_stay_ordinary_numbers_where_a_constant_gradient_would_lead_elsewhere():
    """`rmspropalex` had NaN by call 300; `lamb` grew by a thousandth with every call."""
    tiny = {"weight": "4x4"}
    assert np.isfinite(
        called(case_of("rmspropalex", "torch", **tiny), 1000)["weight"].detach()
    ).all()
    case = case_of("lamb", "torch", **tiny)
    began = float(prepared(case)["weight"].norm())
    assert float(called(case, 2000)["weight"].norm()) < 2 * began


UPDATED = [name for name, each in catalogue().items() if each.category in ("inplace", "optimizer")]


@pytest.mark.slow
@pytest.mark.parametrize("name", UPDATED)
def test_what_is_overwritten_stays_an_ordinary_number_for_100_000_calls(name):
    operator = catalogue()[name]
    if "torch" not in operator.spelling:
        pytest.skip("no such operator in torch")
    shape = next(each for each, value in operator.params.items() if isinstance(value, tuple))
    for dtype in ("float16",) if "float16" in operator.dtypes else ("float32",):
        names = called(case_of(name, "torch", dtype=dtype, **{shape: "4x4"}), 100_000)
        assert np.isfinite(names["y"].detach().float()).all()
        assert float(names["y"].detach().float().abs().max()) < 1e4
