"""Picking elements by position. Positions are random: neighbours in memory would flatter caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opbench.define.program import PERMUTATION, Domain, integers
from opbench.suites.ops.entry import ANY, Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import PLANE, shaped, without_gradient

ROWS = {"small": 64, "typical": 1024, "large": 4096, "skewed": 10000}


def below(name: str, axis: int) -> Callable[[Values], Domain]:
    """Positions within that axis of that input."""
    return lambda v: integers(0, getattr(v, name)[axis])


def window(v: Values) -> str:
    return f"data[{v.begin[0]}:{v.end[0]}, {v.begin[1]}:{v.end[1]}]"


def window_shape(v: Values) -> Shape:
    return (v.end[0] - v.begin[0], v.end[1] - v.begin[1])


WINDOW = {
    "data": PLANE,
    "begin": {
        "small": (16, 16),
        "typical": (256, 256),
        "large": (1024, 1024),
        "skewed": (2500, 2),
    },
    "end": {"small": (48, 48), "typical": (768, 768), "large": (3072, 3072), "skewed": (7500, 7)},
}
POINTS = {"small": (2, 64), "typical": (2, 1024), "large": (2, 4096)}
GRID = {"small": (64, 64), "typical": (1024, 1024), "large": (4096, 4096)}
MANY = {"small": (4096,), "typical": (1048576,), "large": (16777216,)}


def picking(name: str, inputs: tuple[Input, ...], **fields: Any) -> Operator:
    """Moves elements of any dtype, and computes nothing."""
    return Operator(name, "indexing", inputs, flops=0.0, dtypes=ANY, **fields)


OPERATORS = (
    picking(
        "slice",
        (Input("data"),),
        **shaped(WINDOW),
        spelling={
            "torch": window,
            "jax": "lax.slice(data, {begin}, {end})",
            "onnxruntime": lambda v: f"Slice(data, {list(v.begin)}, {list(v.end)})",
            "mxnet": "nd.slice(data, begin={begin}, end={end})",
            "numpy": window,
        },
        result=window_shape,
        shrinks=("none",),
    ),
    picking(
        "slice_axis",
        (Input("data"),),
        **shaped({"data": PLANE}, axis=0, begin=16, end=48),
        spelling={
            "torch": lambda v: f"torch.narrow(data, {v.axis}, {v.begin}, {v.end - v.begin})",
            "jax": "lax.slice_in_dim(data, {begin}, {end}, axis={axis})",
            "onnxruntime": "Slice(data, [{begin}], [{end}], [{axis}])",
            "mxnet": "nd.slice_axis(data, axis={axis}, begin={begin}, end={end})",
            "numpy": lambda v: f"data[{':, ' * v.axis}{v.begin}:{v.end}]",
        },
        result=lambda v: (v.end - v.begin, v.data[1]),
        shrinks=("none",),
    ),
    picking(
        "slice_like",
        (Input("data"), Input("other", grad=False)),
        **shaped(
            {
                "data": PLANE,
                "other": {size: (a // 2, max(1, b // 2)) for size, (a, b) in PLANE.items()},
            }
        ),
        spelling={
            "torch": "data[: other.shape[0], : other.shape[1]]",
            "onnxruntime": "s = Shape(other)\ny = Slice(data, [0, 0], s)",
            "mxnet": "nd.slice_like(data, other)",
            "numpy": "data[: other.shape[0], : other.shape[1]]",
        },
        result=lambda v: v.other,
        shrinks=("none",),
    ),
    picking(
        "take",
        (
            Input("data"),
            Input("indices", below("data", 0), "int64", grad=False, shape=lambda v: (v.count,)),
        ),
        **shaped({"data": PLANE, "count": ROWS}),
        spelling={
            "torch": "torch.index_select(data, 0, indices)",
            "onnxruntime": "Gather(data, indices, axis=0)",
            "mxnet": "nd.take(data, indices)",
            "numpy": "np.take(data, indices, axis=0)",
        },
        result=lambda v: (v.count, v.data[1]),
        aliases=("gather",),
    ),
    picking(
        "one_hot",
        (Input("indices", lambda v: integers(0, v.depth), "int64", grad=False),),
        **shaped({"indices": {"small": (64,), "typical": (1024,), "large": (16384,)}}, depth=1000),
        spelling={
            "torch": "F.one_hot(indices, {depth})",
            "jax": "nn.one_hot(indices, {depth})",
            "onnxruntime": "OneHot(indices, [{depth}], [0.0, 1.0])",
            "mxnet": "nd.one_hot(indices, {depth})",
            "numpy": Call("eye[indices]", setup="eye = np.eye({depth}, {options})"),
        },
        differentiable=False,
        result=lambda v: (*v.indices, v.depth),
    ),
    Operator(
        "where",
        "indexing",
        (Input("condition", integers(0, 2), "bool", grad=False), Input("lhs"), Input("rhs")),
        **shaped(dict.fromkeys(("condition", "lhs", "rhs"), PLANE)),
        spelling={
            "torch": "torch.where(condition, lhs, rhs)",
            "onnxruntime": "Where(condition, lhs, rhs)",
            "mxnet": Call("nd.where(mask, lhs, rhs)", setup="mask = condition.astype({dtype})"),
            "numpy": "np.where(condition, lhs, rhs)",
        },
    ),
    Operator(
        "ravel_multi_index",
        "indexing",
        (Input("data", lambda v: integers(0, min(v.shape)), "int64", grad=False),),
        **shaped(
            {"data": {"small": (2, 4096), "typical": (2, 1048576), "large": (2, 8388608)}},
            shape=(1024, 1024),
        ),
        spelling={
            "torch": lambda v: f"data[0] * {v.shape[1]} + data[1]",
            "jax": "jnp.ravel_multi_index((data[0], data[1]), {shape}, mode='clip')",
            "mxnet": "nd.ravel_multi_index(data, shape={shape})",
            "numpy": "np.ravel_multi_index((data[0], data[1]), {shape})",
        },
        differentiable=False,
        result=lambda v: v.data[1:],
        result_dtype="int64",
        flops=2.0,
        shrinks=("none",),
    ),
    Operator(
        "unravel_index",
        "indexing",
        (Input("data", integers(0, 1048576), "int64", grad=False),),
        **shaped({"data": MANY}, shape=(1024, 1024)),
        spelling={
            "torch": Call("torch.unravel_index(data, {shape})", compared="torch.stack(y)"),
            "jax": Call("jnp.unravel_index(data, {shape})", compared="jnp.stack(y)"),
            "mxnet": "nd.unravel_index(data, shape={shape})",
            "numpy": Call("np.unravel_index(data, {shape})", compared="np.stack(y)"),
        },
        differentiable=False,
        result=lambda v: (2, *v.data),
        result_dtype="int64",
    ),
    picking(
        "gather_nd",
        (Input("data"), Input("indices", below("data", 0), "int64", grad=False)),
        **shaped({"data": GRID, "indices": POINTS}),
        spelling={
            "torch": "data[indices[0], indices[1]]",
            "onnxruntime": "t = Transpose(indices, perm=[1, 0])\ny = GatherND(data, t)",
            "mxnet": "nd.gather_nd(data, indices)",
            "numpy": "data[indices[0], indices[1]]",
        },
        result=lambda v: v.indices[1:],
        shrinks=("none",),
    ),
    # No position occurs twice: which of two values stays is not defined anywhere.
    picking(
        "scatter_nd",
        (
            Input("data", shape=lambda v: v.indices[1:]),
            Input("indices", PERMUTATION, "int64", grad=False),
        ),
        **shaped({"indices": POINTS, "shape": GRID}),
        spelling={
            "torch": "data.new_zeros({shape}).index_put((indices[0], indices[1]), data)",
            "jax": "jnp.zeros({shape}, data.dtype).at[indices[0], indices[1]].set(data)",
            "mxnet": "nd.scatter_nd(data, indices, shape={shape})",
            "numpy": "y = np.zeros({shape}, data.dtype)\ny[indices[0], indices[1]] = data",
        },
        result=lambda v: v.shape,
        shrinks=("none",),
        absent={"onnxruntime": "ONNX scatters into a tensor it is given, not into zeros"},
    ),
    picking(
        "pick",
        (
            Input("data"),
            Input("index", below("data", 1), "int64", grad=False, shape=lambda v: v.data[:1]),
        ),
        **shaped({"data": PLANE}),
        spelling={
            "torch": "torch.gather(data, 1, index[:, None])[:, 0]",
            "onnxruntime": "i = Unsqueeze(index, [1])\ng = GatherElements(data, i, axis=1)\n"
            "y = Squeeze(g, [1])",
            "mxnet": "nd.pick(data, index, axis=1)",
            "numpy": "np.take_along_axis(data, index[:, None], axis=1)[:, 0]",
        },
        result=lambda v: v.data[:1],
    ),
    without_gradient(
        picking(
            "setitem",
            (Input("data"), Input("value", shape=window_shape)),
            **shaped(WINDOW),
            spelling={
                "torch": Call(lambda v: f"{window(v)} = value\ny = data", compilable=False),
                "jax": lambda v: window(v).replace("data[", "data.at[", 1) + ".set(value)",
                "mxnet": lambda v: f"{window(v)} = value\ny = data",
                "numpy": lambda v: f"{window(v)} = value\ny = data",
            },
            result=window_shape,
            shrinks=("none",),
            absent={"onnxruntime": "an ONNX graph overwrites nothing"},
        )
    ),
    Operator(
        "masked_fill",
        "indexing",
        (Input("data"), Input("mask", integers(0, 2), "bool", grad=False)),
        **shaped({"data": PLANE, "mask": PLANE}, value=0.5),
        spelling={
            "torch": "torch.masked_fill(data, mask, {value})",
            "jax": "jnp.where(mask, {value}, data)",
            "onnxruntime": "Where(mask, [{value}], data)",
            "numpy": "np.where(mask, data.dtype.type({value}), data)",
        },
        flops=0.0,
    ),
    Operator(
        "index_add",
        "indexing",
        (
            Input("data"),
            Input("indices", below("data", 0), "int64", grad=False, shape=lambda v: (v.count,)),
            Input("source", shape=lambda v: (v.count, v.data[1])),
        ),
        **shaped({"data": PLANE, "count": ROWS}),
        spelling={
            "torch": "torch.index_add(data, 0, indices, source)",
            "jax": "data.at[indices].add(source)",
            "numpy": "y = data.copy()\nnp.add.at(y, indices, source)",
        },
        flops=lambda v: float(v.count * v.data[1]),
        tolerance=8.0,
        aliases=("scatter_add",),
    ),
)
