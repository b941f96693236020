"""The source of a point on ONNX Runtime: what it cannot do is no failure."""

from __future__ import annotations

import pytest
from tests.late import needs
from tests.suites.sweeps.test_sweep_content import cases

from opbench.suites.sweeps.definition import Model

needs("torch", "onnx", "onnxruntime")


@pytest.fixture(scope="module")
def functions():
    """Those that every such point brings with it."""
    linear = Model("torch.nn", "Linear", ("out", "hidden"))
    found = next(c for c in cases(linear, stages=("forward",)) if c.runtime == "onnxruntime")
    names: dict = {}
    exec(found.globals, names)
    return names


@pytest.mark.parametrize(
    ("dtype", "error"), [("BFLOAT16", "Unsupported"), ("INT64", "InvalidGraph"), ("FLOAT", "")]
)
def test_a_number_format_that_an_operator_does_not_take_is_unsupported(functions, dtype, error):
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(n, getattr(TensorProto, dtype), [1]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Acos", ["x"], ["y"])], "graph", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)

    def opened():
        return functions["open_session"](model.SerializeToString(), "cpu", 1)

    if not error:
        assert opened().get_inputs()
        return
    with pytest.raises(Exception, match=r"of operator \(Acos\)") as raised:
        opened()
    assert raised.type.__name__ == error


def test_a_model_that_cannot_be_exported_is_unsupported(functions):
    import torch

    class Words(torch.nn.Module):
        def forward(self, x):
            return x + len(open(__file__).read() * int(x.sum()))

    with pytest.raises(functions["Unsupported"], match="torch cannot export it to ONNX"):
        functions["export"](Words(), (torch.ones(2),))
