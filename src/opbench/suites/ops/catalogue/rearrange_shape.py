"""Moving elements, and changing shapes.

Where a framework answers with a view (torch and NumPy do for most of these), the time is that of
making the view: that is what its users get. Others copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opbench.define.program import NORMAL
from opbench.suites.ops.entry import ANY, Call, Input, Operator, Values
from opbench.suites.ops.shapes import PLANE, shaped, without_gradient

CUBE = {
    "small": (4, 16, 16),
    "typical": (16, 256, 256),
    "large": (64, 512, 512),
    "skewed": (10000, 10, 1),
}
BLOCKS = {
    "small": (1, 8, 8, 8),
    "typical": (8, 64, 64, 64),
    "large": (16, 128, 128, 128),
    "skewed": (1, 1024, 1, 256),
}
UNBLOCKED = {
    "small": (1, 2, 16, 16),
    "typical": (8, 16, 128, 128),
    "large": (16, 32, 256, 256),
    "skewed": (1, 256, 2, 512),
}

Text = str | Call | Callable[[Values], str]


def moving(
    name: str,
    spelling: Mapping[str, Text],
    shapes: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    inputs: tuple[Input, ...] = (Input("data", NORMAL),),
    **more: Any,
) -> Operator:
    return Operator(
        name,
        "rearrange_shape",
        inputs,
        **shaped(shapes or {"data": PLANE}, **(options or {})),
        spelling=spelling,
        **{"flops": 0.0, "dtypes": ANY, **more},
    )


def swapped(v: Values, items: Sequence[int]) -> tuple[int, ...]:
    """The items of three axes with those of `dim1` and `dim2` exchanged."""
    order = list(items)
    order[v.dim1], order[v.dim2] = order[v.dim2], order[v.dim1]
    return tuple(order)


def flat(v: Values) -> tuple[int]:
    return (v.data[0] * v.data[1],)


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
    moving(
        "transpose",
        {
            "torch": "torch.permute(data, (1, 0))",
            "onnxruntime": "Transpose(data, perm=[1, 0])",
            "mxnet": "nd.transpose(data, axes=(1, 0))",
            "numpy": "np.transpose(data, (1, 0))",
        },
        result=lambda v: v.data[::-1],
    ),
    moving(
        "swapaxes",
        {
            "torch": "torch.swapaxes(data, {dim1}, {dim2})",
            "onnxruntime": lambda v: f"Transpose(data, perm={list(swapped(v, range(3)))})",
            "mxnet": "nd.swapaxes(data, dim1={dim1}, dim2={dim2})",
            "numpy": "np.swapaxes(data, {dim1}, {dim2})",
        },
        {"data": CUBE},
        {"dim1": 0, "dim2": 2},
        result=lambda v: swapped(v, v.data),
    ),
    moving(
        "flip",
        {
            "torch": "torch.flip(data, ({axis},))",
            "mxnet": "nd.flip(data, axis={axis})",
            "numpy": "np.flip(data, {axis})",
        },
        options={"axis": 1},
        aliases=("reverse",),
    ),
    moving(
        "depth_to_space",
        {
            "torch": to_space("permute"),
            "jax": to_space("transpose"),
            "numpy": to_space("transpose"),
            "onnxruntime": "DepthToSpace(data, blocksize={block_size}, mode='DCR')",
            "mxnet": "nd.depth_to_space(data, block_size={block_size})",
        },
        {"data": BLOCKS},
        {"block_size": 2},
        aliases=("DepthToSpace",),
    ),
    moving(
        "space_to_depth",
        {
            "torch": to_depth("permute"),
            "jax": to_depth("transpose"),
            "numpy": to_depth("transpose"),
            "onnxruntime": "SpaceToDepth(data, blocksize={block_size})",
            "mxnet": "nd.space_to_depth(data, block_size={block_size})",
        },
        {"data": UNBLOCKED},
        {"block_size": 2},
        aliases=("SpaceToDepth",),
    ),
    # Channels in another order than above: the two are not the same operator.
    moving(
        "pixel_shuffle",
        {
            "torch": "F.pixel_shuffle(data, {block_size})",
            "onnxruntime": "DepthToSpace(data, blocksize={block_size}, mode='CRD')",
        },
        {"data": BLOCKS},
        {"block_size": 2},
    ),
    moving(
        "pixel_unshuffle",
        {"torch": "F.pixel_unshuffle(data, {block_size})"},
        {"data": UNBLOCKED},
        {"block_size": 2},
    ),
    moving(
        "diag",
        {
            "torch": "torch.diag(data)",
            "mxnet": "nd.diag(data)",
            "numpy": "np.diag(data)",
        },
        result=lambda v: (min(v.data),),
    ),
    moving(
        "reshape",
        {
            "torch": "torch.reshape(data, {shape})",
            "onnxruntime": lambda v: f"Reshape(data, {list(v.shape)})",
            "mxnet": "nd.reshape(data, shape={shape})",
            "numpy": "np.reshape(data, {shape})",
        },
        options={"shape": (-1,)},
        result=flat,
    ),
    moving(
        "reshape_like",
        {
            "torch": "data.reshape_as(other)",
            "onnxruntime": "s = Shape(other)\ny = Reshape(data, s)",
            "mxnet": "nd.reshape_like(data, other)",
            "numpy": "np.reshape(data, other.shape)",
        },
        inputs=(Input("data"), Input("other", grad=False, shape=flat)),
        result=flat,
    ),
    without_gradient(
        moving(
            "size_array",
            {
                "torch": "torch.numel(data)",
                "onnxruntime": "Size(data)",
                "mxnet": "nd.size_array(data)",
                "numpy": "np.size(data)",
            },
            result=lambda v: (1,),
            traffic=lambda v: 8.0,
            parity="",
        )
    ),
    without_gradient(
        moving(
            "shape_array",
            {
                "torch": "data.size()",
                "jax": "jnp.array(jnp.shape(data))",
                "onnxruntime": "Shape(data)",
                "mxnet": "nd.shape_array(data)",
                "numpy": "np.shape(data)",
            },
            result=lambda v: (len(v.data),),
            traffic=lambda v: 8.0 * len(v.data),
            parity="",
        )
    ),
    moving(
        "broadcast_axis",
        {
            "torch": "data.expand(-1, {size})",
            "onnxruntime": "Expand(data, [1, {size}])",
            "mxnet": "nd.broadcast_axis(data, axis=1, size={size})",
            "numpy": "np.broadcast_to(data, (data.shape[0], {size}))",
        },
        {
            "data": {"small": (64, 1), "typical": (1024, 1), "large": (4096, 1)},
            "size": {"small": 64, "typical": 1024, "large": 4096},
        },
        result=lambda v: (v.data[0], v.size),
        aliases=("broadcast_axes",),
    ),
    moving(
        "broadcast_to",
        {
            "torch": "torch.broadcast_to(data, {shape})",
            "onnxruntime": lambda v: f"Expand(data, {list(v.shape)})",
            "mxnet": "nd.broadcast_to(data, shape={shape})",
            "numpy": "np.broadcast_to(data, {shape})",
        },
        {
            "data": {"small": (1, 64), "typical": (1, 1024), "large": (1, 4096)},
            "shape": {k: v for k, v in PLANE.items() if k != "skewed"},
        },
        result=lambda v: v.shape,
        shrinks=("shape",),
    ),
    moving(
        "broadcast_like",
        {
            "torch": "data.expand_as(other)",
            "onnxruntime": "s = Shape(other)\ny = Expand(data, s)",
            "mxnet": "nd.broadcast_like(data, other)",
            "numpy": "np.broadcast_to(data, other.shape)",
        },
        {
            "data": {"small": (1, 64), "typical": (1, 1024), "large": (1, 4096)},
            "other": {k: v for k, v in PLANE.items() if k != "skewed"},
        },
        inputs=(Input("data"), Input("other", grad=False)),
        result=lambda v: v.other,
        shrinks=("other",),
    ),
    moving(
        "repeat",
        {
            "torch": "torch.repeat_interleave(data, {repeats}, {axis})",
            "mxnet": "nd.repeat(data, repeats={repeats}, axis={axis})",
            "numpy": "np.repeat(data, {repeats}, axis={axis})",
        },
        options={"repeats": 2, "axis": 0},
        result=lambda v: (v.data[0] * v.repeats, v.data[1]),
    ),
    moving(
        "tile",
        {
            "torch": "torch.tile(data, {reps})",
            "onnxruntime": lambda v: f"Tile(data, {list(v.reps)})",
            "mxnet": "nd.tile(data, reps={reps})",
            "numpy": "np.tile(data, {reps})",
        },
        options={"reps": (2, 2)},
        result=lambda v: (v.data[0] * v.reps[0], v.data[1] * v.reps[1]),
    ),
    moving(
        "pad",
        {
            "torch": "F.pad(data, ({width}, {width}, {width}, {width}))",
            "onnxruntime": "Pad(data, [0, 0, {width}, {width}, 0, 0, {width}, {width}])",
            "mxnet": "nd.pad(data, mode='constant', constant_value=0, "
            "pad_width=(0, 0, 0, 0, {width}, {width}, {width}, {width}))",
            "numpy": "np.pad(data, ((0, 0), (0, 0), ({width}, {width}), ({width}, {width})))",
        },
        {"data": BLOCKS},
        {"width": 1},
        result=lambda v: (*v.data[:2], v.data[2] + 2 * v.width, v.data[3] + 2 * v.width),
    ),
    moving(
        "expand_dims",
        {
            "torch": "torch.unsqueeze(data, {axis})",
            "onnxruntime": "Unsqueeze(data, [{axis}])",
            "mxnet": "nd.expand_dims(data, axis={axis})",
            "numpy": "np.expand_dims(data, {axis})",
        },
        options={"axis": 0},
        result=lambda v: (1, *v.data),
    ),
    moving(
        "squeeze",
        {
            "torch": "torch.squeeze(data, {axis})",
            "onnxruntime": "Squeeze(data, [{axis}])",
            "mxnet": "nd.squeeze(data, axis={axis})",
            "numpy": "np.squeeze(data, {axis})",
        },
        {"data": {size: (1, *shape) for size, shape in PLANE.items()}},
        {"axis": 0},
        result=lambda v: v.data[1:],
    ),
    moving(
        "roll",
        {
            "torch": "torch.roll(data, {shift}, {axis})",
            "numpy": "np.roll(data, {shift}, {axis})",
        },
        options={"shift": 7, "axis": 0},
    ),
    moving(
        "tril",
        {
            "torch": "torch.tril(data)",
            "onnxruntime": "Trilu(data, upper=0)",
            "numpy": "np.tril(data)",
        },
    ),
)
