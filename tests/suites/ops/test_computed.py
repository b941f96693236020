"""What entries compute: every option acts, and frameworks agree at each of its settings."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.suites.ops.inprocess import HERE, called, case_of, computed, prepared

from opbench.suites.ops.catalogue import catalogue, find
from opbench.suites.ops.entry import DType

pytest.importorskip("torch")
pytest.importorskip("jax")

#: A second setting, where one more or half as much is no valid one.
SECOND = {
    "axis": 0, "dim": 0, "dim1": 1, "dim2": 1, "num_outputs": 2, "block_size": 1, "num_groups": 2,
    "groups": 2, "heads": 4, "shape": None, "to": DType("float64"), "value": 0.25, "k": 3,
    "begin": None, "end": None, "low": -5, "high": 50,
}  # fmt: skip
#: Of random values these are the same along either side of a square.
CONSTANT = ("any", "all", "count_nonzero")
#: Draws differ, shapes alone agree, or nothing else computes the same.
LOOSE = ("", "statistics", "shape")


def second(name, value):
    if name in SECOND:
        return None if SECOND[name] == value else SECOND[name]
    if isinstance(value, tuple):
        return tuple(each + 1 for each in value)
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value / 2


def settings():
    for operator in catalogue().values():
        able = [each for each in HERE if each in operator.spelling]
        if len(able) < 2 or operator.parity in LOOSE or operator.category == "optimizer":
            continue
        shapes = {each.name for each in operator.inputs}
        for name, value in operator.params.items():
            other = second(name, value) if name not in shapes else None
            if other is not None and not isinstance(value, tuple | str | None.__class__):
                yield pytest.param(operator.name, name, other, id=f"{operator.name}-{name}")


#: At the usual settings, once for all options of an entry.
computed_as_usual = functools.cache(computed)


@pytest.mark.parametrize(("name", "option", "other"), list(settings()))
def test_frameworks_agree_at_two_settings_of_every_option(name, option, other):
    operator = catalogue()[name]
    able = [each for each in HERE if each in operator.spelling]
    size = "skewed" if name in CONSTANT else "small"
    usual = {each: computed_as_usual(name, each, size) for each in able}
    changed = {each: computed(name, each, size, **{option: other}) for each in able}
    for found in (usual, changed):
        for each in able[1:]:
            assert_agree(found[able[0]], found[each], operator)
    # The option acts: what is computed is not the same.
    first = able[0]
    assert any(
        a.shape != b.shape or a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=True)
        for a, b in zip(usual[first], changed[first])
    )


def assert_agree(expected, found, operator):
    assert [each.shape for each in expected] == [each.shape for each in found]
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
