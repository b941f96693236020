"""The graph of a compiled region as plain data: operators by name, their arguments by number.

A node is `["input"]`, `["constant", tensor]`, `["call", operator, arguments, keyword arguments]` or
`["output", values]`. An argument `{"node": 3}` is the result of the third node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opbench.capture.checks import NAME, Wrong, label_of, mapping, operator_of, sequence
from opbench.capture.codec import GRAPHS
from opbench.capture.values import NodeRef, Opaque, TensorSpec, leaves

#: What a graph does to sizes, besides calling operators: functions of Python's `operator`.
PYTHON = (
    "getitem", "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pow", "eq", "ne", "lt",
    "le", "gt", "ge", "and_", "or_",
)  # fmt: skip
#: A model that is compiled whole has some thousands.
MOST_NODES = 200_000


@dataclass(frozen=True)
class Graph:
    """What a region computes; or the reason why that is unknown."""

    nodes: tuple[Sequence[Any], ...] = ()
    reason: str = ""


def unknown_graph(reason: str) -> Graph:
    return Graph(reason=reason)


def graph_line(name: str, graph: Graph) -> dict[str, Any]:
    if graph.reason:
        return {"graph": name, "reason": graph.reason}
    return {"graph": name, "nodes": [list(node) for node in graph.nodes]}


def graph_of(content: Mapping[str, Any]) -> Graph:
    """The graph of a line, every part of it checked."""
    if "reason" in content:
        return unknown_graph(label_of(content["reason"], "reason"))
    nodes = sequence(content.get("nodes"), "nodes")
    if len(nodes) > MOST_NODES:
        raise Wrong(f"a graph of {len(nodes)} nodes")
    for number, node in enumerate(nodes):
        check_node(sequence(node, "nodes"), number)
    if not nodes or nodes[-1][0] != "output":
        raise Wrong("a graph ends with its output")
    return Graph(tuple(nodes))


def check_node(node: list[Any], number: int) -> None:
    kind, *parts = node or [""]
    lengths = {"input": 0, "constant": 1, "call": 3, "output": 1}
    if not isinstance(kind, str) or lengths.get(kind) != len(parts):
        raise Wrong(f"node {number} of a graph: {str(node)[:60]!r}")
    if kind == "constant" and not isinstance(GRAPHS.decode(parts[0]), TensorSpec):
        raise Wrong(f"node {number} of a graph: a constant is a tensor")
    if kind == "call":
        space, _, name = str(parts[0]).partition("::")
        if space != "python":
            operator_of(parts[0])
        elif name not in PYTHON:
            raise Wrong(f"node {number} of a graph: unknown function {name[:40]!r}")
        for name in mapping(parts[2], "keyword arguments of a node"):
            if not NAME.fullmatch(name):
                raise Wrong(f"node {number} of a graph: {name[:40]!r} is not an argument's name")
        parts = [sequence(parts[1], "arguments of a node"), *parts[2].values()]
    for value in leaves([GRAPHS.decode(part) for part in parts]):
        if isinstance(value, Opaque):
            raise Wrong(f"node {number} of a graph: {value.description[:60]!r} is not a value")
        if isinstance(value, NodeRef) and not 0 <= value.number < number:
            raise Wrong(f"node {number} of a graph refers to node {value.number}")
