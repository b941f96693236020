"""Which ONNX operator computes the same as a captured call, written for `frameworks.onnxruntime`.

Only calls whose whole result it gives: a training batch norm has no counterpart here, and its
inference form would be another, faster and wrong computation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from opbench.capture.calls import OperatorCall
from opbench.capture.values import TensorSpec, mapped


class NoCounterpart(Exception):
    """Why ONNX Runtime cannot take this call."""


class Names:
    """The arguments of a call: tensors by name, everything else as it is."""

    def __init__(self, call: OperatorCall) -> None:
        self.call = call
        numbers = count()

        def named(value: Any) -> Any:
            return f"x{next(numbers)}" if isinstance(value, TensorSpec) else value

        self.values = mapped(call.args, named)
        self.keywords = mapped(dict(call.kwargs), named)

    def __getitem__(self, index: int) -> Any:
        return self.values[index] if index < len(self.values) else None

    def spec(self, index: int) -> TensorSpec:
        found = self.call.args[index]
        if not isinstance(found, TensorSpec):
            raise NoCounterpart(f"argument {index} is not a tensor")
        return found

    def rank(self, index: int) -> int:
        return len(self.spec(index).shape)


Spell = Callable[[Names], str]


def unary(name: str) -> Spell:
    return lambda a: f"y = {name}({a[0]})"


def binary(name: str) -> Spell:
    def spell(a: Names) -> str:
        if a.keywords.get("alpha", 1) != 1:
            raise NoCounterpart("ONNX adds without a factor")
        other = a[1] if isinstance(a[1], str) else float(a[1])
        if isinstance(a[1], (int, float)) and not a.spec(0).floating:
            other = int(a[1])
        return f"y = {name}({a[0]}, {other})"

    return spell


def convolution(a: Names) -> str:
    x, weight, bias, stride, padding, dilation, transposed, _output_padding, groups = (
        a[index] for index in range(9)
    )
    if transposed:
        raise NoCounterpart("only plain convolutions are spelled here")
    kernel = list(a.spec(1).shape[2:])
    inputs = f"{x}, {weight}" + (f", {bias}" if bias is not None else "")
    return (
        f"y = Conv({inputs}, kernel_shape={kernel}, strides={stride}, "
        f"pads={[*padding, *padding]}, dilations={dilation}, group={groups})"
    )


def addmm(a: Names) -> str:
    alpha, beta = a.keywords.get("alpha", 1), a.keywords.get("beta", 1)
    return f"y = Gemm({a[1]}, {a[2]}, {a[0]}, alpha={float(alpha)}, beta={float(beta)})"


def softmax(name: str) -> Spell:
    return lambda a: f"y = {name}({a[0]}, axis={int(a[1])})"


def gelu(a: Names) -> str:
    return f"y = Gelu({a[0]}, approximate={a.keywords.get('approximate', 'none')!r})"


def layer_norm(a: Names) -> str:
    if a[2] is None:
        raise NoCounterpart("ONNX normalises layers with a weight only")
    bias = "" if a[3] is None else f", {a[3]}"
    inputs, axis = f"{a[0]}, {a[2]}{bias}", -len(a[1])
    return f"y, mean, rstd = LayerNormalization({inputs}, axis={axis}, epsilon={float(a[4])})"


def embedding(a: Names) -> str:
    return f"y = Gather({a[0]}, {a[1]}, axis=0)"


def transpose(a: Names) -> str:
    order = list(range(a.rank(0)))
    first, second = (a[1], a[2]) if a[1] is not None else (0, min(1, a.rank(0) - 1))
    order[first], order[second] = order[second], order[first]
    return f"y = Transpose({a[0]}, perm={order})"


def concatenate(a: Names) -> str:
    return f"y = Concat({', '.join(a[0])}, axis={int(a[1] or 0)})"


def reduce(name: str) -> Spell:
    def spell(a: Names) -> str:
        axes = a[1] if isinstance(a[1], list) and a[1] else list(range(a.rank(0)))
        return f"y = {name}({a[0]}, {axes}, keepdims={int(bool(a[2]))})"

    return spell


def average_pool(a: Names) -> str:
    if list(a[1]) != [1, 1]:
        raise NoCounterpart("only pooling to one value per channel has a counterpart")
    return f"y = GlobalAveragePool({a[0]})"


def view(a: Names) -> str:
    return f"y = Reshape({a[0]}, {list(a[1])})"


#: `aten` name without overload → its spelling. One line adds an operator.
SPELLINGS: dict[str, Spell] = {
    **{name: unary(onnx) for name, onnx in {
        "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log",
        "sqrt": "Sqrt", "neg": "Neg", "abs": "Abs", "erf": "Erf", "sin": "Sin", "cos": "Cos",
        "floor": "Floor", "ceil": "Ceil", "reciprocal": "Reciprocal", "clone": "Identity",
    }.items()},
    **{name: binary(onnx) for name, onnx in {
        "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow",
    }.items()},
    "mm": lambda a: f"y = MatMul({a[0]}, {a[1]})",
    "bmm": lambda a: f"y = MatMul({a[0]}, {a[1]})",
    "addmm": addmm,
    "convolution": convolution,
    "_softmax": softmax("Softmax"),
    "_log_softmax": softmax("LogSoftmax"),
    "gelu": gelu,
    "native_layer_norm": layer_norm,
    "embedding": embedding,
    "t": transpose,
    "transpose": transpose,
    "permute": lambda a: f"y = Transpose({a[0]}, perm={list(a[1])})",
    "cat": concatenate,
    "mean": reduce("ReduceMean"),
    "sum": reduce("ReduceSum"),
    "_adaptive_avg_pool2d": average_pool,
    "view": view,
    "_unsafe_view": view,
    "where": lambda a: f"y = Where({a[0]}, {a[1]}, {a[2]})",
}  # fmt: skip


def spelled_in_onnx(call: OperatorCall) -> str:
    space, _, base = call.operator.partition("::")
    if call.in_place:
        raise NoCounterpart("an ONNX model cannot write to its inputs")
    if space != "aten" or base not in SPELLINGS:
        raise NoCounterpart(f"no ONNX operator computes {call.operator}")
    if call.kwargs.get("dtype") is not None or any(t.dtype == "bool" for t in call.tensors[:1]):
        raise NoCounterpart(f"no ONNX operator computes this {call.operator}")
    try:
        return SPELLINGS[base](Names(call))
    except (TypeError, ValueError, IndexError):
        raise NoCounterpart(f"no ONNX operator computes this {call.operator}") from None
