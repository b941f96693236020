"""Moving elements, and changing shapes.

Where a framework answers with a view (torch and NumPy do for most of these), the time is that of
making the view: that is what its users get. Others copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from opbench.suites.ops.entry import ALL, NUMBERS, Call, Input, Operator, Values
from opbench.suites.ops.shapes import (
    PLANE,
    op,
    sizes,
)

CUBE = sizes((4, 16, 16), (16, 256, 256), (64, 512, 512), (10000, 10, 1))
BLOCKS = sizes((1, 8, 8, 8), (8, 64, 64, 64), (16, 128, 128, 128), (1, 1024, 1, 256))
UNBLOCKED = sizes((1, 2, 16, 16), (8, 16, 128, 128), (16, 32, 256, 256), (1, 256, 2, 512))

Text = str | Call | Callable[[Values], str]


def moving(
    name: str,
    shapes: Mapping[str, Any] = PLANE,
    options: Mapping[str, Any] | None = None,
    inputs: tuple[str | Input, ...] = ("data",),
    **more: Any,
) -> Operator:
    given = {"flops": 0.0, "dtypes": ALL, **(options or {}), **more}
    return op(name, "rearrange_shape", inputs, shapes, **given)


def swapped(v: Values, items: Sequence[int]) -> tuple[int, ...]:
    """The items of three axes with those of `dim1` and `dim2` exchanged."""
    order = list(items)
    order[v.dim1], order[v.dim2] = order[v.dim2], order[v.dim1]
    return tuple(order)


def flat(v: Values) -> tuple[int]:
    return (prod(v.data),)


def backwards(text: str) -> Callable[[Values], str]:
    """All axes in the opposite order."""
    return lambda v: text.format(axes=tuple(range(len(v.data)))[::-1])


def to_space(method: str) -> Callable[[Values], str]:
    """Two reshapes around a transposition, for frameworks without an operator of their own."""

    def text(v: Values) -> str:
        (n, channels, h, w), b = v.data, v.block_size
        c = channels // b**2
        split, joined = f"{n}, {b}, {b}, {c}, {h}, {w}", f"{n}, {c}, {h * b}, {w * b}"
        return f"data.reshape({split}).{method}(0, 3, 4, 1, 5, 2).reshape({joined})"

    return text


def to_depth(method: str) -> Callable[[Values], str]:
    def text(v: Values) -> str:
        (n, c, h, w), b = v.data, v.block_size
        split = f"{n}, {c}, {h // b}, {b}, {w // b}, {b}"
        joined = f"{n}, {c * b**2}, {h // b}, {w // b}"
        return f"data.reshape({split}).{method}(0, 3, 5, 1, 2, 4).reshape({joined})"

    return text


OPERATORS = (
    moving("transpose",
        needs={"len(data) >= 1": "onnxruntime"},
        result=lambda v: v.data[::-1], any_rank=True,
        torch=backwards("torch.permute(data, {axes})"),
        jax=backwards("jnp.transpose(data, {axes})"),
        onnx=lambda v: f"Transpose(data, perm={[*range(len(v.data))][::-1]})",
        mxnet=backwards("nd.transpose(data, axes={axes})"),
        numpy=backwards("np.transpose(data, {axes})")),
    moving("swapaxes", {"data": CUBE}, {"dim1": 0, "dim2": 2}, result=lambda v: swapped(v, v.data),
        torch="torch.swapaxes(data, {dim1}, {dim2})",
        onnx=lambda v: f"Transpose(data, perm={list(swapped(v, range(3)))})",
        mxnet="nd.swapaxes(data, dim1={dim1}, dim2={dim2})",
        numpy="np.swapaxes(data, {dim1}, {dim2})"),
    moving("flip", axis=1, dtypes=NUMBERS, aliases=("reverse",),
        torch="torch.flip(data, ({axis},))", mxnet="nd.flip(data, axis={axis})",
        numpy="np.flip(data, {axis})"),
    moving("depth_to_space", {"data": BLOCKS}, {"block_size": 2}, aliases=("DepthToSpace",),
        torch=Call(to_space("permute"), emulated=True),
        jax=Call(to_space("transpose"), emulated=True),
        numpy=Call(to_space("transpose"), emulated=True),
        onnx="DepthToSpace(data, blocksize={block_size}, mode='DCR')",
        mxnet="nd.depth_to_space(data, block_size={block_size})"),
    moving("space_to_depth", {"data": UNBLOCKED}, {"block_size": 2}, aliases=("SpaceToDepth",),
        torch=Call(to_depth("permute"), emulated=True),
        jax=Call(to_depth("transpose"), emulated=True),
        numpy=Call(to_depth("transpose"), emulated=True),
        onnx="SpaceToDepth(data, blocksize={block_size})",
        mxnet="nd.space_to_depth(data, block_size={block_size})"),
    # Channels in another order than above: the two are not the same operator.
    moving("pixel_shuffle", {"data": BLOCKS}, {"block_size": 2}, dtypes=NUMBERS,
        needs={"prod(data) >= 1": "backward", "len(data) == 4": "onnxruntime"},
        torch="F.pixel_shuffle(data, {block_size})",
        onnx="DepthToSpace(data, blocksize={block_size}, mode='CRD')"),
    moving("pixel_unshuffle", {"data": UNBLOCKED}, {"block_size": 2}, dtypes=NUMBERS,
        needs={"len(data) >= 3": "", "prod(data) >= 1": "backward"},
        torch="F.pixel_unshuffle(data, {block_size})"),
    moving("diag", result=lambda v: (min(v.data),), partly=("data",),
        torch="torch.diag(data)", mxnet="nd.diag(data)", numpy="np.diag(data)"),
    moving("reshape", shape=(-1,), result=flat, any_rank=True,
        torch="torch.reshape(data, {shape})", onnx=lambda v: f"Reshape(data, {list(v.shape)})",
        mxnet="nd.reshape(data, shape={shape})", numpy="np.reshape(data, {shape})"),
    moving("reshape_like",
        needs={"0 not in data[1:]": "onnxruntime"},
        inputs=("data", Input("other", grad=False, shape=flat)), result=flat,
        any_rank=True,
        torch="data.reshape_as(other)", onnx="s = Shape(other)\ny = Reshape(data, s)",
        mxnet="nd.reshape_like(data, other)", numpy="np.reshape(data, other.shape)"),
    moving("size_array", result=lambda v: (1,), any_rank=True, traffic=lambda v: 8.0, parity="",
        grad=False,
        torch="torch.numel(data)", onnx="Size(data)", mxnet="nd.size_array(data)",
        numpy="np.size(data)"),
    moving("shape_array", result=lambda v: (len(v.data),), traffic=lambda v: 8.0 * len(v.data),
        parity="", grad=False, any_rank=True,
        torch="data.size()", jax="jnp.array(jnp.shape(data))", onnx="Shape(data)",
        mxnet="nd.shape_array(data)", numpy="np.shape(data)"),
    moving("broadcast_axis",
        {"data": sizes((64, 1), (1024, 1), (4096, 1)), "length": sizes(64, 1024, 4096)},
        result=lambda v: (v.data[0], v.length), aliases=("broadcast_axes",),
        torch="data.expand(-1, {length})", onnx="Expand(data, [1, {length}])",
        mxnet="nd.broadcast_axis(data, axis=1, size={length})",
        numpy="np.broadcast_to(data, (data.shape[0], {length}))"),
    moving("broadcast_to",
        {"data": sizes((1, 64), (1, 1024), (1, 4096)),
            "shape": {k: v for k, v in PLANE.items() if k != "skewed"}}, result=lambda v: v.shape,
        shrinks=("shape",),
        torch="torch.broadcast_to(data, {shape})", onnx=lambda v: f"Expand(data, {list(v.shape)})",
        mxnet="nd.broadcast_to(data, shape={shape})", numpy="np.broadcast_to(data, {shape})"),
    moving("broadcast_like",
        {"data": sizes((1, 64), (1, 1024), (1, 4096)),
            "other": {k: v for k, v in PLANE.items() if k != "skewed"}},
        inputs=("data", Input("other", grad=False)), result=lambda v: v.other, shrinks=("other",),
        torch="data.expand_as(other)", onnx="s = Shape(other)\ny = Expand(data, s)",
        mxnet="nd.broadcast_like(data, other)", numpy="np.broadcast_to(data, other.shape)"),
    moving("repeat", repeats=2, axis=0, result=lambda v: (v.data[0] * v.repeats, v.data[1]),
        torch="torch.repeat_interleave(data, {repeats}, {axis})",
        mxnet="nd.repeat(data, repeats={repeats}, axis={axis})",
        numpy="np.repeat(data, {repeats}, axis={axis})"),
    moving("tile", reps=(2, 2), result=lambda v: (v.data[0] * v.reps[0], v.data[1] * v.reps[1]),
        torch="torch.tile(data, {reps})", onnx=lambda v: f"Tile(data, {list(v.reps)})",
        mxnet="nd.tile(data, reps={reps})", numpy="np.tile(data, {reps})"),
    moving("pad", {"data": BLOCKS}, {"width": 1}, needs={"width >= 0": "numpy jax"},
        result=lambda v: (*v.data[:2], v.data[2] + 2 * v.width, v.data[3] + 2 * v.width),
        torch="F.pad(data, ({width}, {width}, {width}, {width}))",
        onnx="Pad(data, [0, 0, {width}, {width}, 0, 0, {width}, {width}])",
        mxnet="nd.pad(data, mode='constant', constant_value=0, "
        "pad_width=(0, 0, 0, 0, {width}, {width}, {width}, {width}))",
        numpy="np.pad(data, ((0, 0), (0, 0), ({width}, {width}), ({width}, {width})))"),
    moving("expand_dims", axis=0, result=lambda v: (1, *v.data),
        torch="torch.unsqueeze(data, {axis})", onnx="Unsqueeze(data, [{axis}])",
        mxnet="nd.expand_dims(data, axis={axis})", numpy="np.expand_dims(data, {axis})"),
    moving("squeeze", {"data": {size: (1, *shape) for size, shape in PLANE.items()}}, {"axis": 0},
        result=lambda v: v.data[1:], needs={"data[axis] == 1": "jax numpy onnxruntime"},
        torch="torch.squeeze(data, {axis})", onnx="Squeeze(data, [{axis}])",
        mxnet="nd.squeeze(data, axis={axis})", numpy="np.squeeze(data, {axis})"),
    moving("roll", shift=7, axis=0,
        torch="torch.roll(data, {shift}, {axis})", numpy="np.roll(data, {shift}, {axis})"),
    moving("tril", dtypes=NUMBERS, needs={"len(data) >= 2": ""},
        torch="torch.tril(data)", onnx="Trilu(data, upper=0)", numpy="np.tril(data)"),
)  # fmt: skip
