"""What a compiled region is called."""

from __future__ import annotations

import pytest
from tests.late import Late, late

torch = late("torch")
describing = Late("opbench.capture.compiled.describing")

OURS = '  File "/home/me/train.py", line 9, in forward\n    return x + 1\n'


class Linear:
    """Of a module its kind is named."""


class Sequential(Linear): ...


@pytest.mark.parametrize(
    ("meta", "name"),
    [
        ({"stack_trace": OURS}, "train_9"),
        ({"stack_trace": OURS, "nn_module_stack": {"1": ("fn", Linear)}}, "train_9"),
        ({"nn_module_stack": {"1": ("fn", Sequential)}}, "Sequential"),
        ({"fwd_nn_module_stack": {"1": ("fn", "torch.nn.modules.Linear")}}, "Linear"),
        ({}, "graph"),
    ],
)
def test_by_the_users_line_or_else_by_the_module(meta, name):
    graph = torch.fx.symbolic_trace(lambda x: x + 1)
    for node in graph.graph.nodes:
        if node.op == "call_function":
            node.meta.update(meta)
    assert describing.name_of_graph(graph, backward=False) == f"{name}_forward"
    assert describing.name_of_graph(graph, backward=True) == f"{name}_backward"
