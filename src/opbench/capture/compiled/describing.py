"""The graph that the compiler was given, as plain data."""

from __future__ import annotations

import operator
import re
from typing import Any

import torch

from opbench.capture.codec import GRAPHS
from opbench.capture.compiled.graph import PYTHON, Graph, unknown_graph
from opbench.capture.describing import describe
from opbench.capture.snapshots import described_arguments, take_snapshots
from opbench.capture.values import NodeRef, Opaque, leaves


class Unrecordable(Exception):
    """Why a graph cannot be written to a file."""


def graph_from(module: torch.fx.GraphModule) -> tuple[Graph, tuple[int, ...]]:
    """The graph, and which of its inputs it writes to."""
    numbers: dict[Any, int] = {}
    inputs: list[Any] = []
    written: set[Any] = set()
    nodes: list[list[Any]] = []
    try:
        for node in module.graph.nodes:
            nodes.append(described_node(module, node, numbers))
            numbers[node] = len(numbers)
            if node.op == "placeholder":
                inputs.append(node)
            written.update(written_by(node))
    except Unrecordable as reason:
        return unknown_graph(str(reason)[:200]), ()
    return Graph(tuple(nodes)), tuple(i for i, node in enumerate(inputs) if node in written)


def described_node(module: torch.fx.GraphModule, node: Any, numbers: dict[Any, int]) -> list[Any]:
    if node.op == "placeholder":
        return ["input"]
    if node.op == "get_attr":
        constant = getattr(module, node.target, None)
        if not isinstance(constant, torch.Tensor) or constant.is_meta:
            raise Unrecordable(f"the graph holds {node.target}, a {type(constant).__name__}")
        copied = take_snapshots([constant.detach()], {}, (1,), ordered=True)
        return ["constant", GRAPHS.encode(described_arguments(*copied, keep=True).args[0])]
    if node.op == "output":
        return ["output", encoded(node.args[0], numbers)]
    if node.op != "call_function":
        raise Unrecordable(f"the graph holds a node of the kind {node.op}")
    args = [encoded(value, numbers) for value in node.args]
    kwargs = {name: encoded(value, numbers) for name, value in node.kwargs.items()}
    return ["call", function_name(node.target), args, kwargs]


def function_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        overload = target._schema.overload_name
        return target._schema.name + (f".{overload}" if overload else "")
    name = getattr(target, "__name__", str(target))
    if name in PYTHON and getattr(operator, name, None) is target:
        return f"python::{name}"
    raise Unrecordable(f"the graph calls {name}, which is not an operator of the registry")


def encoded(value: Any, numbers: dict[Any, int]) -> Any:
    found = referring(value, numbers)
    for leaf in leaves(found):
        if isinstance(leaf, Opaque):
            raise Unrecordable(f"an argument in the graph is a {leaf.description}")
    return GRAPHS.encode(found)


def referring(value: Any, numbers: dict[Any, int]) -> Any:
    """The value with the number of each node in the node's place."""
    if isinstance(value, torch.fx.Node):
        return NodeRef(numbers[value])
    if isinstance(value, (list, tuple)):
        return [referring(each, numbers) for each in value]
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise Unrecordable("a size in the graph is symbolic")
    return describe(value)


def written_by(node: Any) -> set[Any]:
    """The nodes whose memory a node writes to."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return set()
    return {
        given
        for argument, given in zip(node.target._schema.arguments, node.args)
        if argument.alias_info is not None
        and argument.alias_info.is_write
        and isinstance(given, torch.fx.Node)
    }


def name_of_graph(module: torch.fx.GraphModule, backward: bool) -> str:
    """`train_9_forward`: where its first line stands, train.py line 9, and the direction;
    `Sequential_forward` for a module of torch.nn, none of whose lines is the user's."""
    direction = "backward" if backward else "forward"
    for node in module.graph.nodes:
        trace = node.meta.get("stack_trace") or ""
        found = re.search(r'File "(?:[^"]*/)?([^"/]+?)(?:\.py)?", line (\d+)', trace)
        if found:
            return f"{identifier(found[1])}_{found[2]}_{direction}"
    for node in module.graph.nodes:
        modules = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
        for _, kind in modules.values():
            name = kind if isinstance(kind, str) else kind.__name__
            return f"{identifier(name.rpartition('.')[2])}_{direction}"
    return f"graph_{direction}"


def identifier(name: str) -> str:
    return re.sub(r"\W+|^(?=\d)", "_", name, flags=re.ASCII)[:60]
