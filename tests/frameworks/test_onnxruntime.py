"""ONNX Runtime: texts that become models, and the models run."""

from __future__ import annotations

import numpy as np
import pytest
from tests.late import needs

from opbench.define.program import Tensor, integers
from opbench.frameworks.onnxruntime import Graph

needs("onnxruntime", "onnx")


def test_a_text_becomes_nodes_constants_and_domains():
    graph = Graph.read(
        "t = Clip(x, None, 6.0)\n"
        "y, i = TopK(t, [3], axis=-1)\n"
        "z = com_microsoft.Gelu(y)\n"
        'w = Cast(z, to="float16")',
        "float64",
    )
    assert graph.nodes == [
        "helper.make_node(\"Clip\", ['x', '', 'constant0'], ['t'])",
        "helper.make_node(\"TopK\", ['t', 'constant1'], ['y', 'i'], axis=-1)",
        "helper.make_node(\"Gelu\", ['y'], ['z'], domain=\"com.microsoft\")",
        "helper.make_node(\"Cast\", ['z'], ['w'], to=TensorProto.FLOAT16)",
    ]
    assert graph.constants == [
        'helper.make_tensor("constant0", TensorProto.DOUBLE, [], [6.0])',
        'helper.make_tensor("constant1", TensorProto.INT64, [1], [3])',
    ]
    assert graph.last == ["w"]


@pytest.mark.parametrize("text", ["x + y", "y = x + 1", "Add(x, x)"])
def test_what_is_no_call_of_an_operator_is_refused(text):
    with pytest.raises(ValueError, match="not `name = Operator"):
        Graph.read(text, "float32")


def test_attributes_literals_and_left_out_inputs_reach_the_operators(cases, exchanged):
    (case,) = cases(
        "onnxruntime",
        spelled={"onnxruntime": "t = Clip(x, None, 0.25)\ny, i = TopK(t, [2], axis=0)"},
        inputs=(Tensor("x", (9,), "float64"),),
        dtype="float64",
    )
    x = np.random.default_rng(0).standard_normal(9)
    assert exchanged(case)["y"].tolist() == sorted(np.minimum(x, 0.25))[:-3:-1]


def test_a_graph_without_inputs_is_computed_each_time_not_folded_into_a_constant(cases, exchanged):
    (case,) = cases("onnxruntime", spelled={"onnxruntime": "y = Mul(i, 3)"}, inputs=(
        Tensor("i", (4,), "int64", integers(1, 9)),
    ), dtype="int64")  # fmt: skip
    assert 'disabled_optimizers=["ConstantFolding"]' in case.setup
    assert (exchanged(case)["y"] % 3 == 0).all()


def test_an_operator_without_a_kernel_for_the_dtype_is_unsupported(cases, measure):
    found = cases(
        "onnxruntime",
        spelled={"onnxruntime": "y = Conv(x, w)"},
        inputs=(Tensor("x", (1, 1, 5, 5), "int32"), Tensor("w", (1, 1, 3, 3), "int32")),
        dtype="int32",
    )
    (result,) = measure(found).values()
    assert result.outcome in ("unsupported", "failed")
    assert result.reason


def test_what_it_does_not_tell_is_unsupported_and_a_session_has_a_compile_time(cases, measure):
    results = measure(cases("onnxruntime"), ("time", "memory", "compile_time"))
    assert "does not report" in results["onnxruntime", "forward", "memory"].outcome_text
    assert results["onnxruntime", "forward", "compile_time"].estimate > 0
