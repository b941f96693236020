"""The classic way: names of lines, inputs, and real measurements of torch, NumPy and MXNet."""

from __future__ import annotations

import importlib
import re

import opbench.ops as ops
import pytest

from opbench.compat.initializers import normal
from opbench.compat.initializers import ones as filled
from opbench.compat.operator_benchmark import device_of
from opbench.compat.operator_classes import camel, groups, names
from opbench.errors import UserError
from opbench.suites.ops.catalogue import catalogue

pytestmark = pytest.mark.usefixtures("kept_workers")

#: The output of the classic suite's own example, numbers left out.
GOLDEN = [
    "MX_Add_Forward_Backward_Time",
    "MX_Multiply_Forward_Backward_Time",
    "MX_Subtract_Forward_Backward_Time",
    "MX_Divide_Forward_Backward_Time",
    "MX_Modulo_Forward_Backward_Time",
    "MX_Power_Forward_Backward_Time",
    "MX_Negative_Forward_Backward_Time",
    "MX_Inplace_Add_Forward_Time",
    "MX_Inplace_Subtract_Forward_Time",
    "MX_Inplace_Multiply_Forward_Time",
    "MX_Inplace_Division_Forward_Time",
    "MX_Inplace_Modulo_Forward_Time",
]

CLASSIC = """
Add Subtract Multiply Divide Modulo Power Negative IAdd ISub IMul IDiv IMod
Lesser LesserEqual Greater GreaterEqual Equal NotEqual
LogicalAnd LogicalOr LogicalXor LogicalNot
Zeros Ones ZerosLike OnesLike Full Arange
Exp Log Sqrt Square Dot BatchDot Sort ArgSort TopK ArgMax ArgMin
Dense Flatten Lambda LeakyReLU PReLU Sigmoid Softmax LogSoftmax Tanh ELU SELU Swish
Conv1D Conv2D Conv1DTranspose Conv2DTranspose BatchNorm Dropout
MaxPool1D MaxPool2D AvgPool1D AvgPool2D
GlobalMaxPool1D GlobalMaxPool2D GlobalAvgPool1D GlobalAvgPool2D
L1Loss L2Loss SigmoidBinaryCrossEntropyLoss SoftmaxCrossEntropyLoss RNN LSTM GRU
CustomOpElementwiseAdd
"""
NAMES = tuple(re.findall(r"\w+", CLASSIC))


def test_all_73_classes_of_the_classic_suite_are_there():
    assert len(NAMES) == 73
    for module in ("opbench.ops", "opbench.mxnet_benchmarks.nd", "opbench.mxnet_benchmarks.gluon"):
        there = importlib.import_module(module)
        assert [name for name in NAMES if not hasattr(there, name)] == []


def test_every_address_of_the_classic_suite_is_one_module():
    from opbench.mxnet_benchmarks.gluon import loss, nn, rnn

    from opbench import mxnet_benchmarks

    assert nn is mxnet_benchmarks.gluon.nn
    assert rnn.LSTM is nn.LSTM, "one class, at each of its addresses"
    assert rnn.LSTM is not mxnet_benchmarks.nd.LSTM, "Gluon's block is not the operator"
    assert rnn.LSTM.default_framework == "mxnet"
    assert {"Dense", "L2Loss"} <= set(dir(loss))
    assert isinstance(ops.Add(), ops.OperatorBenchmark)
    assert importlib.import_module("opbench.patching_hook").init


def test_the_twelve_lines_are_named_and_ordered_as_the_classic_suite_printed_them():
    from opbench.mxnet_benchmarks import nd

    from opbench.suites.ops.groups import GROUPS

    classes = {each.operator.name: each for each in map(nd.__getattr__, NAMES)}
    assert [classes[name]().name for name in GROUPS["arithmetic"]] == GOLDEN


def test_a_function_for_each_category_and_each_group_of_the_classic_suite():
    from opbench.suites.ops.catalogue import CATEGORIES
    from opbench.suites.ops.groups import GROUPS

    for group in (*CATEGORIES, *GROUPS):
        assert callable(getattr(ops, f"run_all_{group}_operations_benchmarks"))


def test_every_operator_has_a_class_with_inputs_to_read_before_anything_runs():
    classes = {each.operator.name for each in names().values() if hasattr(each, "operator")}
    assert classes == set(catalogue())
    assert ops.Add(framework="mxnet", inputs={"dtype": "float64"}).inputs == {
        "lhs": (1024, 1024),
        "rhs": (1024, 1024),
        "initializer": normal,
        "run_backward": True,
        "dtype": "float64",
    }
    assert list(ops.Conv2D().inputs) == [
        "data", "channels", "kernel_size", "strides", "padding",
        "initializer", "run_backward", "dtype",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("framework", "prefix"),
    [("torch", "PT"), ("mxnet", "MX"), ("jax", "JAX"), ("onnxruntime", "ORT"), ("numpy", "NP")],
)
def test_prefixes(framework, prefix):
    passes = "Forward" if framework in ("onnxruntime", "numpy") else "Forward_Backward"
    assert ops.Add(framework=framework).name == f"{prefix}_Add_{passes}_Time"


def test_forward_alone():
    assert ops.Add(inputs={"run_backward": False}).name == "PT_Add_Forward_Time"
    assert ops.Add(inputs={"run_backward": False}).make_case().stage == "forward"


def test_an_unknown_input_is_refused_with_the_valid_ones():
    with pytest.raises(UserError, match=r"Add has no input 'lhz' .*; did you mean lhs") as caught:
        ops.Add(inputs={"lhz": (2, 2)})
    assert "lhs, rhs, initializer, run_backward, dtype" in str(caught.value)


def test_an_unknown_operator_framework_or_initializer_is_refused_with_the_nearest():
    with pytest.raises(AttributeError, match=r"did you mean .*LeakyReLU"):
        _ = ops.LeakyReLu
    with pytest.raises(UserError, match="unknown framework 'mxnt'; did you mean mxnet"):
        ops.Add(framework="mxnt")
    with pytest.raises(UserError, match="unknown initializer 'norml'; did you mean normal"):
        ops.Add(inputs={"initializer": "norml"})


def test_inputs_decide_the_case():
    wide = ops.Add(inputs={"lhs": (8, 4), "rhs": (8, 4)}).make_case()
    assert "torch.randn((8, 4), dtype=torch.float32)" in wide.setup
    assert wide.axes["lhs"] == "8x4"
    assert wide.hash != ops.Add().make_case().hash
    ones = ops.Add(inputs={"initializer": "ones"}).make_case()
    assert "torch.ones((1024, 1024)" in ones.setup
    assert ones.axes["initializer"] == "ones"
    assert ops.Add(inputs={"initializer": filled}).make_case().hash == ones.hash


def test_devices_as_others_write_them():
    assert [device_of(each) for each in (None, "cpu(0)", "gpu(0)", "cuda", "gpu(1)")] == [
        "cpu", "cpu", "cuda", "cuda", "cuda:1",
    ]  # fmt: skip


def test_a_real_run_prints_a_line_for_each_and_no_failure_stops_it(capsys):
    """`rcbrt` is no operator of torch's; `exp` after it is measured all the same."""
    small = {"data": (8, 8)}
    quick = {"runs": 2}
    made = [
        ops.Rcbrt(inputs=small, **quick),
        ops.Exp(inputs=small, **quick),
        ops.Log(framework="numpy", **quick),
    ]
    ops.measure(made, on_result=ops.OperatorBenchmark.print_benchmark_results)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("PT_Rcbrt_Forward_Backward_Time - unsupported: torch has no operator rcbrt")
    assert re.fullmatch(r"PT_Exp_Forward_Backward_Time - 0\.\d{6} seconds", lines[1])
    assert re.fullmatch(r"NP_Log_Forward_Time - 0\.\d{6} seconds", lines[2])
    assert made[0].get_benchmark_results() == {}
    assert 0 < made[1].get_benchmark_results()["PT_Exp_Forward_Backward_Time"] < 1
    found = made[1].get_statistics()
    assert found["low"] <= found["estimate"] <= found["high"]
    assert found["p50"] <= found["p90"] <= found["p99"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_what_a_callable_makes_is_what_the_worker_computes_with(dtype):
    import numpy

    pytest.importorskip("ml_dtypes")

    def threes(shape):
        return numpy.full(shape, 3.0)

    add = ops.Add(lhs=(4, 4), rhs=(4, 4), initializer=threes, dtype=dtype, runs=1)
    case = add.make_case()
    assert case.axes["initializer"] == "threes"
    from opbench.worker.session import Session

    session = Session()
    session.do_prepare({"case": case.to_dict(), "seed": 0})
    session.run("calls", 1)
    assert session.evaluate("y").tolist() == [[6.0] * 4] * 4
    with pytest.raises(UserError, match=r"an array of shape \(1,\) for lhs"):
        ops.Add(inputs={"initializer": lambda shape: numpy.ones(1)}).make_case()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"runs": 0}, "runs must be a whole number from 1 up, not 0"),
        ({"size": "huge"}, "unknown size 'huge'"),
        ({"threads": 0}, "threads must be a whole number from 1 up"),
        ({"precision": -1}, "precision must be a number above 0"),
        ({"inputs": {"dtype": "float13"}}, "unknown dtype 'float13'; did you mean float32"),
        ({"inputs": {"lhs": "1024x1024"}}, r"lhs takes a shape such as \(1024, 1024\)"),
        ({"inputs": {"lhs": (2.5, 3)}}, "lhs takes a shape such as 1024x1024"),
        ({"inputs": {"lhs": (2, 3), "rhs": (4, 5)}}, "rhs=2x3 would fit"),
        ({"inputs": "lhs"}, "inputs is a dict such as"),
        ({"inputs": {"dtype": ["float32"]}}, "unknown dtype"),
        ({"inputs": {"initializer": [1]}}, "unknown initializer"),
        ({"framework": ["torch"]}, "unknown framework"),
        ({"ctx": "tpu"}, "unknown device 'tpu'"),
        ({"store": 5}, "store is a path ending in .db or a URL, not 5"),
        ({"max_time": float("inf")}, "max_time must be a number above 0"),
        ({"inputs": {"run_backward": "no"}}, "run_backward is True or False, not 'no'"),
        ({"dtype": "float13"}, "unknown dtype 'float13'; did you mean float32"),
        ({"lhs": "1024x1024"}, r"lhs takes a shape such as \(1024, 1024\)"),
        ({"lhz": (2, 2)}, "Add has no input or keyword 'lhz' .*; did you mean lhs"),
        ({"framwork": "jax"}, "did you mean framework"),
        ({"lhs": (2, 2), "inputs": {"lhs": (3, 3)}}, "lhs is given twice"),
        ({"warmup": -1}, "warmup must be a whole number from 0 up, not -1"),
        ({"store": "results.txt"}, "expected a path ending in .db"),
    ],
)
def test_a_mistake_is_found_when_the_benchmark_is_made(given, says):
    with pytest.raises(UserError, match=says):
        ops.Add(**given)


def test_a_dtype_that_an_operator_lacks_is_a_mistake_too():
    with pytest.raises(UserError, match=r"relu is measured in .*, not in complex64"):
        ops.Relu(dtype="complex64")


def test_whole_numbers_go_forward_only():
    assert (ops.Add(dtype="int8").stage, ops.Add().stage) == ("forward", "forward_backward")


def test_inputs_may_be_keywords():
    given = {"lhs": (8, 4), "dtype": "float64", "run_backward": False}
    assert ops.Add(**given).make_case() == ops.Add(inputs=given).make_case()
    assert ops.Add(lhs=(8, 4), inputs={"dtype": "float64"}).inputs["dtype"] == "float64"


def test_a_class_has_the_name_of_its_operator_in_camel_case_too():
    for name, known in {"Mul": "mul", "Topk": "topk", "Argmax": "argmax", "IAdd": "iadd"}.items():
        assert getattr(ops, name).operator.name == known
    assert ops.Topk is ops.TopK
    missing = [name for name in catalogue() if not hasattr(ops, camel(name))]
    assert missing == []


def test_sides_may_be_numbers_of_numpy():
    import numpy

    assert ops.Add(inputs={"lhs": tuple(numpy.array([3, 4]))}).inputs["lhs"] == (3, 4)


def test_one_shape_given_is_that_of_both():
    made = ops.Add(inputs={"lhs": (8, 8)})
    assert made.inputs["rhs"] == (8, 8)
    assert "torch.randn((8, 8)" in made.make_case().setup.partition("rhs")[2]


def test_names_of_gluon_are_blocks_of_gluon_with_their_options():
    from opbench.mxnet_benchmarks import gluon, nd

    dense = gluon.Dense(inputs={"activation": "relu", "hybridize": True}).make_case()
    assert "mx.gluon.nn.Dense(units=256, activation='relu')" in dense.setup
    assert "block.hybridize(" in dense.setup
    assert "nd.FullyConnected" in nd.Dense().make_case().stmt
    assert gluon.Dense().name == "MX_Dense_Forward_Backward_Time"
    for name in ("PReLU", "ELU", "SELU", "LSTM", "L2Loss", "Conv2D"):
        assert f".{name}(" in getattr(gluon, name)().make_case().setup


def test_groups_of_gluon_run_blocks_of_gluon_on_mxnet_and_operators_elsewhere():
    def run(framework, group):
        return [each.operator.name for each in groups(framework)[group]]

    assert run("mxnet", "gluon_nn_basic") == ["gluon_Dense", "gluon_Flatten", "Lambda"]
    assert run("torch", "gluon_nn_basic") == ["FullyConnected", "flatten", "Lambda"]
    assert {"add", "gluon_LSTM", "gluon_L2Loss", "tanh"} <= set(run("mxnet", "classic"))
    assert "LSTM" not in run("mxnet", "classic")


def test_results_are_printed_with_their_interval_and_stored_on_request(tmp_path, capsys):
    from opbench.store import Store

    path = tmp_path / "mine.db"
    made = ops.Exp(framework="numpy", inputs={"data": (8, 8)}, runs=2, store=str(path))
    made.run_benchmark()
    made.print_benchmark_results(details=True)
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("NP_Exp_Forward_Time - ")
    assert "95 % interval" in second
    with Store.open(str(path), create=False) as store:
        (run,) = store.runs()
        assert [each.case.name for each in store.results(run=run)] == ["exp"]
