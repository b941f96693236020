"""What entries compute: every option acts, and frameworks agree at each of its settings."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.late import needs
from tests.suites.ops.inprocess import HERE, called, case_of, check_all, computed, prepared
from tests.suites.ops.settings import options, second

from opbench import frameworks
from opbench.define.program import Program
from opbench.frameworks.framework import others
from opbench.running.agreement import Output, disagreement
from opbench.suites.ops.catalogue import catalogue, find
from opbench.suites.ops.programs import program, remarks

needs("torch", "jax")

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


def test_entries_of_any_rank_compute_the_result_they_state_of_any_tensor():
    def check(operator):
        for data in ((16, 12), (4, 9, 16), (2, 9, 3, 10)):
            stated = operator.result_shape(operator.values("small", given={"data": data}))
            able = [name for name in HERE if operator.call(name)]
            outputs = {name: computed(operator.name, name, data=data) for name in able}
            for name, found in outputs.items():
                # How many are not zero, nobody knows before.
                if operator.name != "nonzero":
                    assert found[0].shape == stated, (name, data, found[0].shape)
                assert_agree(outputs[able[0]], found, operator)

    # The others give numbers of Python.
    several = [entry for entry in catalogue().values() if entry.any_rank and entry.parity]
    assert {"sum", "transpose", "flatten"} <= {operator.name for operator in several}
    check_all(several, check)


def test_reductions_over_several_axes_are_of_all_of_them():
    data = (3, 4, 5)

    def check(operator):
        for axis in ((0, 2), (-1, 1), (0, 1, 2)):
            stated = operator.result_shape(operator.values(given={"data": data, "axis": axis}))
            able = [name for name in HERE if operator.call(name)]
            outputs = {name: computed(operator.name, name, data=data, axis=axis) for name in able}
            for name, found in outputs.items():
                assert found[0].shape == stated, (name, axis, found[0].shape)
                assert_agree(outputs[able[0]], found, operator)

    several = [entry for entry in catalogue().values() if entry.several_axes]
    assert {"sum", "mean", "max", "var", "logsumexp"} <= {entry.name for entry in several}
    check_all(several, check)


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


#: More than one call, and still the operator; compiled, so that views and shapes cost nothing.
ONE = {
    "onnxruntime": {"reshape_like", "broadcast_like", "slice_like"},
    # An array of a shape; parameters of a distribution, one for each row.
    "jax": {
        "shape_array", "random_pdf_exponential", "random_pdf_gamma",
        "random_pdf_uniform", "random_pdf_generalized_negative_binomial",
    },
}  # fmt: skip
#: The operator, and the sum with its bias: NumPy and JAX have no argument for one.
BIASED = {
    "FullyConnected", "linalg_gemm", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose",
    "Conv2DTranspose", "DepthwiseConv2D",
}  # fmt: skip
SPELLED = ("torch", "mxnet", "onnxruntime", "jax", "numpy")


def spelled(framework):
    """Operators that the framework has, each with its call and its program."""
    for operator in catalogue().values():
        call = operator.call(framework)
        if call is not None and operator.category != "aten":
            dtype = (call.dtypes or operator.dtypes)[0]
            values = operator.values(dtype=dtype)
            yield operator, call, program(operator, frameworks.get(framework), values, "cpu")


def operations(source: Program, eager: bool) -> int:
    """How many calls, signs of arithmetic and writes into a part of a tensor the timed statement
    has, and views of its inputs where no compiler removes them. Shapes, parts of what a call
    returns or the set-up listed, and the tensor that a result is written to, cost nothing."""

    def counts(node):
        if isinstance(node, ast.Call):
            free = ("tuple", "torch.empty", "mx.autograd.train_mode")
            return ast.unparse(node.func) not in free
        if isinstance(node, ast.Subscript):
            part = isinstance(node.slice, ast.Constant) and ast.unparse(node.value) not in given
            return isinstance(node.ctx, ast.Store) or (eager and not part)
        arithmetic = (ast.BinOp, ast.UnaryOp, ast.Compare)
        # `1 - 0.5` is a number, and `-jnp.inf` another.
        return isinstance(node, arithmetic) and any(
            isinstance(name, ast.Name) and name.id not in ("np", "jnp") for name in ast.walk(node)
        )

    given = {tensor.name for tensor in source.inputs}
    # Which part of a tensor is written to, and sizes, are no tensors.
    tree = ast.parse(re.sub(r"\w+\.shape\b(\[\d\])?", "1", source.forward))
    return sum(counts(node) for node in ast.walk(tree))


@pytest.mark.parametrize("framework", SPELLED)
def test_what_takes_several_operators_says_so(framework):
    """Compiled into one or not; fused entries say themselves how they are joined, and Gluon's
    blocks are measured for what they are."""
    eager = framework not in ("jax", "onnxruntime")
    several = {
        operator.name: bool(call.emulated or call.note)
        for operator, call, source in spelled(framework)
        if not (operator.parts or source.unsupported) and operator.category != "gluon"
        if operations(source, eager) > 1
    }
    listed = ONE.get(framework, set()) | (BIASED if framework == "jax" else set())
    assert {name for name, said in several.items() if not said} == listed
    assert catalogue()["linalg_gelqf"].call("torch").emulated, "qr of a transpose"


def test_a_transposed_tensor_lies_alike_in_numpy_and_torch():
    def given(framework):
        return prepared(case_of("batch_dot", framework, layout="transposed"))["lhs"]

    strides = given("torch").stride()
    assert strides[-1] > strides[-2] == 1
    assert given("numpy").strides == tuple(4 * each for each in strides)


@pytest.mark.parametrize("framework", ["numpy", "mxnet", "onnxruntime"])
def test_a_dtype_that_a_framework_lacks_is_no_failure(framework):
    """Of an operator that creates its tensor as well: it has no input to tell by."""
    for name in ("zeros", "full"):
        assert case_of(name, framework, dtype="bfloat16").unsupported


def test_a_time_of_another_dtype_says_so():
    entry = catalogue()["greater"]
    assert remarks(entry, frameworks.get("mxnet"), "float32", "cpu") == [
        "it has no operators on booleans: masks are of floats"
    ]
    assert remarks(entry, frameworks.get("numpy"), "float32", "cpu") == []
    half = remarks(catalogue()["exp"], frameworks.get("onnxruntime"), "float16", "cpu")
    assert "cast to float32" in half[0]


def test_jax_takes_over_from_numpy_what_is_emulated():
    for name in ("add_n", "moments", "KLDiv", "L1Loss"):
        operator = catalogue()[name]
        assert operator.call("numpy").emulated
        assert operator.call("jax").emulated
        assert operator.call("jax").text == operator.call("numpy").text.replace("np.", "jnp.")
    assert not catalogue()["exp"].call("jax").emulated


@pytest.mark.parametrize("framework", SPELLED)
def test_of_entries_with_the_same_call_all_but_one_say_so(framework):
    calls = {}
    for operator, call, source in spelled(framework):
        if not (call.note or call.emulated or operator.parts):
            shapes = tuple(tensor.shape for tensor in source.inputs)
            calls.setdefault((source.forward, source.setup, shapes), []).append(operator.name)
    assert [names for names in calls.values() if len(names) > 1] == []
    assert catalogue()["SoftmaxActivation"].call("torch").note == "the same call as softmax"


@pytest.mark.parametrize(
    ("forward", "output", "beside"),
    [
        ("y, i = lax.top_k(data, 3)", "y", ["i"]),
        ("i = f(data)\ny = g(data)\ni = h(i)", "y", ["i"]),
        ("m = f(data)\ny = data - m", "y", []),
        ("y = torch.cummax(data, 1)", "y[0]", ["y"]),
        ("u, y, v = jnp.linalg.svd(data)", "y", ["u", "v"]),
    ],
)
def test_a_compiled_function_returns_all_that_it_computes(forward, output, beside):
    """Or the compiler drops the rest, and the time is that of another operator."""
    assert others(Program(forward, output=output)) == beside


def test_what_is_computed_besides_the_output_is_returned_to_the_caller():
    case = case_of("cummax", "torch_compile", "forward_backward")
    assert "return y[0], (y,)" in case.setup
    assert case.stmt.splitlines()[-2:] == ["y, others = call(data)", "y.backward(grad)"]


@pytest.mark.parametrize("stage", ["forward", "forward_backward"])
@pytest.mark.parametrize("name", ["max_dim", "min_dim", "topk"])
def test_positions_are_in_what_jax_compiles(name, stage):
    case = case_of(name, "jax", stage)
    names = prepared(case)
    given = [names["data"], *([names["grad"]] if stage != "forward" else [])]
    compiled = names["call"].lower(*given).compile().as_text()
    entry = compiled[compiled.index("ENTRY") :]
    rows = "64,8" if name == "topk" else "64"
    # Of 32 bits, or of 64 where another test has asked for them.
    assert f"s32[{rows}]" in entry or f"s64[{rows}]" in entry, entry


def test_every_weight_of_a_differentiable_entry_has_a_gradient():
    """But for the statistics that a normalisation is given: they are not trained."""
    without = {
        (operator.name, each.name)
        for operator in catalogue().values()
        for each in operator.inputs
        if operator.differentiable and each.weight and not each.grad
    }
    normalised = ("BatchNormInference", "conv_batchnorm", "conv_batchnorm_relu")
    assert without == {(name, each) for name in normalised for each in ("mean", "variance")}


def test_no_weight_is_hidden_in_a_set_up():
    names = called(case_of("multi_head_attention", "torch", "forward_backward"))
    for name in ("data", "w_in", "b_in", "w_out", "b_out"):
        assert names[name].grad is not None, name


@pytest.mark.parametrize(("axis", "num_outputs"), [(1, 4), (1, 3), (0, 5), (-1, 7)])
def test_a_split_has_as_many_parts_as_it_says(axis, num_outputs):
    data = np.random.default_rng(0).standard_normal((6, 10)).astype("float32")
    expected = np.array_split(data, num_outputs, axis=axis)
    given = {"data": (6, 10), "axis": axis, "num_outputs": num_outputs}
    for framework in HERE:
        found = computed("split", framework, **given)
        assert len(found) == num_outputs
        for a, b in zip(expected, found):
            np.testing.assert_array_equal(a, b)
    pytest.importorskip("onnxruntime")
    onnx, split = frameworks.get("onnxruntime"), catalogue()["split"]
    written = program(split, onnx, split.values(given=given), "cpu")
    source = onnx.source("forward", written, device="cpu", threads=1)
    parts = called(source)["binding"].copy_outputs_to_cpu()
    assert [part.shape for part in parts] == [part.shape for part in expected]


def test_a_split_into_more_parts_than_there_are_is_refused():
    with pytest.raises(ValueError, match="a side of 6 does not split into 7 parts"):
        computed("split", "torch", data=(6, 10), axis=0, num_outputs=7)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("ROIPooling", ["MaxRoiPool"]),
        ("gather_nd", ["GatherND"]),
        ("nonzero", ["NonZero"]),
        ("LSTM", ["LSTM"]),
        ("topk", ["TopK"]),
        ("quantize_per_tensor", ["QuantizeLinear"]),
    ],
)
def test_an_onnx_graph_is_the_operator_alone(name, nodes):
    pytest.importorskip("onnxruntime")
    names = prepared(case_of(name, "onnxruntime"))
    assert [node.op_type for node in names["graph"].node] == nodes
    # All that the operator gives is asked for.
    assert len(names["session"].get_outputs()) == len(names["graph"].node[0].output)


def test_quantizing_has_the_same_zero_point_in_every_framework():
    pytest.importorskip("onnxruntime")
    expected = called(case_of("quantize_per_tensor", "torch"))["y"]
    case = case_of("quantize_per_tensor", "onnxruntime")
    names = prepared(case)
    (given,) = names["session"].get_inputs()
    zeros = np.zeros(given.shape, "float32")
    (codes,) = names["session"].run(None, {given.name: zeros})
    assert expected.q_zero_point() == 128
    assert codes.dtype == np.uint8
    assert (codes == 128).all()
    assert catalogue()["quantize_per_tensor"].parity


def drawn(name, **given):
    """The domains of an entry's inputs with these parameters."""
    operator = catalogue()[name]
    values = operator.values(given=given)
    return {each.name: each.domain_at(values) for each in operator.inputs}


def test_positions_are_drawn_from_all_there_is_to_look_up():
    assert drawn("gluon_Embedding")["data"].high == drawn("Embedding")["data"].high == 20000
    assert drawn("gluon_Embedding", input_dim=32)["data"].high == 32
    assert drawn("Embedding", input_dim=32)["data"].high == 32
    assert drawn("take", data=(300, 7))["indices"].high == 300
    assert drawn("pick", data=(300, 7))["index"].high == 7
    assert drawn("gather_nd", data=(300, 7))["indices"].high == 7
    assert drawn("unravel_index", shape=(10, 20))["data"].high == 200
    assert drawn("gluon_SoftmaxCrossEntropyLoss")["label"].high == 1000


def test_batch_normalisation_trains_in_both_interfaces_of_mxnet():
    for name in ("BatchNorm", "gluon_BatchNorm", "gluon_Dropout"):
        assert "train_mode()" in case_of(name, "mxnet").stmt, name


def test_mxnet_is_measured_only_in_dtypes_that_it_computes_in():
    for name in ("logical_and", "logical_not"):
        usual = case_of(name, "mxnet", dtype="bool")
        assert usual.dtype == dict(usual.labels)["dtype"] == "float32"
        assert not usual.unsupported
        assert case_of(name, "onnxruntime", dtype="float32").unsupported
    mixed = [name for name in catalogue() if "mp_" in name and "amp_" not in name]
    assert len(mixed) == 8
    for name in (*mixed, "multi_lars"):
        assert case_of(name, "mxnet", dtype="float64").unsupported, name


@pytest.mark.parametrize("framework", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("operator", ["add", "log"])
def test_a_large_tensor_repeats_a_million_numbers_and_no_row(framework, operator):
    """Drawing them all would take most of a run."""
    stage = "forward" if framework == "numpy" else "forward_backward"
    sides = {"lhs" if operator == "add" else "data": "3072x1024"}
    names = prepared(case_of(operator, framework, stage, **sides))
    for name in {"lhs", "rhs", "data", "grad"} & set(names):
        value = names[name].detach() if framework == "torch" else names[name]
        values = np.asarray(value)
        assert values.shape == (3072, 1024)
        assert values.dtype == np.float32
        assert len(np.unique(values[:, 0])) > 3000
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        if name == "data":  # of a logarithm: between 0.5 and 1.5
            assert 0.5 <= values.min() < low < 0.7 < middle < 1.1 < high < values.max() <= 1.5
        else:
            assert -1.4 < low < -1.2 < -0.1 < middle < 0.1 < 1.2 < high < 1.4


def test_a_large_gradient_is_laid_out_like_the_result():
    shape = "16x16x128x128"
    names = prepared(
        case_of("relu", "torch", "forward_backward", data=shape, layout="channels_last")
    )
    assert names["grad"].stride() == names["y"].stride() == names["data"].stride()
    assert not names["grad"].is_contiguous()
    plain = prepared(case_of("relu", "torch", "forward_backward", data=shape))
    assert plain["data"].untyped_storage().nbytes() == 4 * plain["data"].numel()


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
