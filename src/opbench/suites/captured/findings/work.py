"""The arithmetic and the memory traffic of a captured call, by formula."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from opbench.capture.calls import OperatorCall
from opbench.capture.values import TensorSpec, tensors_in
from opbench.case import Work
from opbench.define.program import ITEM_SIZE

#: Operators that only look at memory in another way: no byte moves.
VIEWS = frozenset((
    "view", "_unsafe_view", "t", "transpose", "permute", "expand", "select", "slice", "detach",
    "unsqueeze", "squeeze", "alias", "as_strided", "split", "split_with_sizes", "unbind",
    "diagonal", "empty", "empty_like", "new_empty", "empty_strided", "chunk", "narrow",
    "_reshape_alias",
    "transpose_", "t_", "squeeze_", "unsqueeze_", "set_", "_local_scalar_dense", "lift_fresh",
))  # fmt: skip


def work_of(call: OperatorCall) -> Work | None:
    """FLOPs, and the bytes that must at least be moved; None where neither is known."""
    space, _, base = call.operator.partition("::")
    if call.compiled or call.obstacle or space not in ("aten", "mkldnn") or base in VIEWS:
        return None
    try:
        flops = FLOPS[base](call) if base in FLOPS and call.dense else 0.0
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
        flops = 0.0  # arguments that this operator does not take
    written = call.outputs or [t for key in call.writes for t in tensors_in(argument(call, key))]
    read = [spec for spec in call.tensors if spec.alias is None]
    return Work(float(flops), float(sum(map(size, [*read, *written]))))


def argument(call: OperatorCall, key: int | str) -> Any:
    if isinstance(key, str):
        return call.kwargs.get(key)
    return call.args[key] if key < len(call.args) else None


def size(spec: TensorSpec) -> int:
    """Bytes of its elements; an expanded dimension is one element in memory."""
    once = prod(n for n, step in zip(spec.shape, spec.steps) if step)
    parts = sum(prod(part.shape) * ITEM_SIZE[part.dtype] for part in spec.parts)
    return parts if spec.parts else once * ITEM_SIZE[spec.dtype]


def product(first: int, second: int) -> Callable[[OperatorCall], float]:
    """Of two matrices, or batches of them, at these positions."""

    def flops(call: OperatorCall) -> float:
        a, b = call.args[first].shape, call.args[second].shape
        return 2.0 * prod(a) * b[-1]

    return flops


def convolution(call: OperatorCall) -> float:
    weight, out = call.args[1].shape, call.outputs[0].shape
    if call.args[6]:  # transposed: each input element meets the kernel
        return 2.0 * prod(call.args[0].shape) * prod(weight[1:])
    return 2.0 * prod(out) * prod(weight[1:])


def convolution_backward(call: OperatorCall) -> float:
    grad, _x, weight = (each.shape for each in call.args[:3])
    wanted = call.args[10]
    return 2.0 * prod(grad) * prod(weight[1:]) * (bool(wanted[0]) + bool(wanted[1]))


def attention(call: OperatorCall) -> float:
    *lead, length, width = call.args[0].shape
    return 4.0 * prod(lead) * length * call.args[1].shape[-2] * width


def attention_backward(call: OperatorCall) -> float:
    *lead, length, width = call.args[1].shape
    return 10.0 * prod(lead) * length * call.args[2].shape[-2] * width


FLOPS: dict[str, Callable[[OperatorCall], float]] = {
    "mm": product(0, 1),
    "bmm": product(0, 1),
    "addmm": product(1, 2),
    "baddbmm": product(1, 2),
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "_scaled_dot_product_flash_attention_for_cpu": attention,
    "_scaled_dot_product_flash_attention": attention,
    "_scaled_dot_product_efficient_attention": attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward,
    "_scaled_dot_product_flash_attention_backward": attention_backward,
}
