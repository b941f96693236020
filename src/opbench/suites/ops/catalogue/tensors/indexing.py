"""Picking elements by position. Positions are random: neighbours in memory would flatter caches."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from opbench.define.program import PERMUTATION, Domain, integers
from opbench.suites.ops.entry import (
    ALL,
    INDEX,
    NUMBERS,
    Call,
    Input,
    Operator,
    Shape,
    Values,
    itemsize,
)
from opbench.suites.ops.shapes import (
    PLANE,
    op,
    sizes,
)

ROWS = sizes(64, 1024, 4096, 10000)


def below(name: str, axis: int) -> Callable[[Values], Domain]:
    """Positions within that axis of that input."""
    return lambda v: integers(0, getattr(v, name)[axis])


def window(v: Values) -> str:
    return f"data[{v.begin[0]}:{v.end[0]}, {v.begin[1]}:{v.end[1]}]"


def window_shape(v: Values) -> Shape:
    return (v.end[0] - v.begin[0], v.end[1] - v.begin[1])


WINDOW = {
    "data": PLANE,
    "begin": sizes((16, 16), (256, 256), (1024, 1024), (2500, 2)),
    "end": sizes((48, 48), (768, 768), (3072, 3072), (7500, 7)),
}
BOTH = {"len(begin) == len(end) == len(data) == 2": ""}
POINTS = sizes((2, 64), (2, 1024), (2, 4096))
GRID = sizes((64, 64), (1024, 1024), (4096, 4096))
MANY = sizes((4096,), (1048576,), (16777216,))


def both(v: Values, moved: Shape) -> float:
    """Bytes to read and write so many elements."""
    return 2.0 * prod(moved) * itemsize(v.dtype)


def picking(name: str, inputs: tuple[str | Input, ...] = ("data",), **more: Any) -> Operator:
    """Moves elements of any dtype, and computes nothing."""
    return op(name, "indexing", inputs, **{"flops": 0.0, "dtypes": ALL, **more})


OPERATORS = (
    picking("slice", ("data",), shapes=WINDOW, needs=BOTH, result=window_shape, shrinks=("none",),
        partly=("data",),
        torch=window, jax="lax.slice(data, {begin}, {end})",
        onnx=lambda v: f"Slice(data, {list(v.begin)}, {list(v.end)})",
        mxnet="nd.slice(data, begin={begin}, end={end})", numpy=window),
    picking("slice_axis", ("data",), axis=0, begin=16, end=48,
        result=lambda v: (v.end - v.begin, v.data[1]), shrinks=("none",), partly=("data",),
        torch=lambda v: f"torch.narrow(data, {v.axis}, {v.begin}, {v.end - v.begin})",
        jax="lax.slice_in_dim(data, {begin}, {end}, axis={axis})",
        onnx="Slice(data, [{begin}], [{end}], [{axis}])",
        mxnet="nd.slice_axis(data, axis={axis}, begin={begin}, end={end})",
        numpy=lambda v: f"data[{':, ' * v.axis}{v.begin}:{v.end}]"),
    picking("slice_like", ("data", Input("other", grad=False)),
        shapes={"data": PLANE, "other": sizes((32, 32), (512, 512), (2048, 2048), (5000, 5))},
        result=lambda v: v.other, shrinks=("none",), traffic=lambda v: both(v, v.other),
        torch="data[: other.shape[0], : other.shape[1]]",
        onnx="s = Shape(other)\ny = Slice(data, [0, 0], s)", mxnet="nd.slice_like(data, other)",
        numpy="data[: other.shape[0], : other.shape[1]]"),
    picking("take",
        ("data",
            Input("indices", below("data", 0), INDEX, grad=False, shape=lambda v: (v.count,))),
        shapes={"data": PLANE, "count": ROWS}, result=lambda v: (v.count, v.data[1]),
        aliases=("index_select",), partly=("data",),
        torch="torch.index_select(data, 0, indices)", onnx="Gather(data, indices, axis=0)",
        mxnet="nd.take(data, indices)", numpy="np.take(data, indices, axis=0)"),
    # The dtype is that of the result: integers in torch and JAX's x64 mode.
    picking("one_hot", (Input("indices", lambda v: integers(0, v.depth), INDEX, grad=False),),
        shapes={"indices": sizes((64,), (1024,), (16384,))}, depth=1000, grad=False,
        dtypes=("int64", "float32"), result=lambda v: (*v.indices, v.depth),
        torch=Call("F.one_hot(indices, {depth})", dtypes=(INDEX,)),
        jax="nn.one_hot(indices, {depth}, dtype={dtype})",
        onnx=lambda v: f"OneHot(indices, [{v.depth}], "
        + ("[0.0, 1.0])" if v.dtype == "float32" else "[0, 1])"),
        mxnet="nd.one_hot(indices, {depth}, dtype={dtype})",
        # Its table has depth × depth elements, 2 GiB of them.
        needs={"depth <= 16384": "numpy"},
        numpy=Call("eye[indices]", setup="eye = np.eye({depth}, {options})", emulated=True)),
    op("where", "indexing", (Input("condition", integers(0, 2), "bool", grad=False), "lhs", "rhs"),
        dtypes=ALL, torch="torch.where(condition, lhs, rhs)", onnx="Where(condition, lhs, rhs)",
        mxnet=Call("nd.where(mask, lhs, rhs)", setup="mask = condition.astype({dtype})"),
        numpy="np.where(condition, lhs, rhs)"),
    op("ravel_multi_index", "indexing",
        (Input("data", lambda v: integers(0, min(v.shape))),),
        shapes=sizes((2, 4096), (2, 1048576), (2, 8388608)), shape=(1024, 1024),
        needs={"data[0] == len(shape) == 2": ""},
        grad=False, dtypes=("int64", "int32"), result=lambda v: v.data[1:], flops=2.0,
        shrinks=("none",),
        torch=Call(lambda v: f"data[0] * {v.shape[1]} + data[1]", emulated=True),
        jax="jnp.ravel_multi_index((data[0], data[1]), {shape}, mode='clip')",
        mxnet="nd.ravel_multi_index(data, shape={shape})",
        numpy=Call("np.ravel_multi_index(given, {shape})", setup="given = tuple(data)")),
    op("unravel_index", "indexing", (Input("data", lambda v: integers(0, prod(v.shape))),),
        shapes=MANY, shape=(1024, 1024), grad=False,
        needs={"min(shape, default=1) >= 1": "", "len(shape) >= 1": "numpy"},
        dtypes=("int64", "int32"), result=lambda v: (len(v.shape), *v.data),
        torch=Call("torch.unravel_index(data, {shape})", compared="torch.stack(y)"),
        jax=Call("jnp.unravel_index(data, {shape})", compared="jnp.stack(y)"),
        mxnet="nd.unravel_index(data, shape={shape})",
        numpy=Call("np.unravel_index(data, {shape})", compared="np.stack(y)")),
    picking("gather_nd",
        ("data", Input("indices", lambda v: integers(0, min(v.data)), INDEX, grad=False)),
        needs={"len(data) == 2": ""},
        shapes={"data": GRID, "indices": POINTS}, result=lambda v: v.indices[1:], shrinks=("none",),
        partly=("data",),
        torch=Call("data[rows, columns]", setup="rows, columns = indices"),
        jax="data[indices[0], indices[1]]",
        onnx=Call("GatherND(data, points)", setup="points = indices.T"),
        mxnet="nd.gather_nd(data, indices)",
        numpy=Call("data[rows, columns]", setup="rows, columns = indices")),
    # No position occurs twice: which of two values stays is not defined anywhere.
    picking("scatter_nd",
        (Input("data", shape=lambda v: v.indices[1:]),
            Input("indices", PERMUTATION, INDEX, grad=False)),
        needs={"len(shape) == 2": "", "indices[-1] <= min(shape)": ""},
        shapes={"indices": POINTS, "shape": GRID}, result=lambda v: v.shape, shrinks=("none",),
        absent={"onnxruntime": "ONNX scatters into a tensor it is given, not into zeros"},
        torch=Call("data.new_zeros({shape}).index_put((indices[0], indices[1]), data)",
            emulated=True),
        jax=Call("jnp.zeros({shape}, data.dtype).at[indices[0], indices[1]].set(data)",
            emulated=True),
        mxnet="nd.scatter_nd(data, indices, shape={shape})",
        numpy=Call("y = np.zeros({shape}, data.dtype)\ny[indices[0], indices[1]] = data",
            emulated=True)),
    picking("pick",
        ("data", Input("index", below("data", 1), INDEX, grad=False, shape=lambda v: v.data[:1])),
        result=lambda v: v.data[:1], dtypes=NUMBERS, partly=("data",),
        torch=Call("torch.gather(data, 1, places)", setup="places = index[:, None]"),
        jax=Call("jnp.take_along_axis(data, index[:, None], axis=1)[:, 0]", emulated=True),
        onnx=Call("i = Unsqueeze(index, [1])\ng = GatherElements(data, i, axis=1)\n"
            "y = Squeeze(g, [1])", emulated=True),
        mxnet="nd.pick(data, index, axis=1)",
        numpy=Call("np.take_along_axis(data, places, axis=1)", setup="places = index[:, None]")),
    picking("fill_element_0index",
        ("data", Input("values", shape=lambda v: v.data[:1]),
            Input("index", below("data", 1), INDEX, shape=lambda v: v.data[:1])),
        needs={"len(data) == 2": ""}, grad=False,
        dtypes=NUMBERS,
        torch=Call("torch.scatter(data, 1, places, given)",
            setup="places, given = index[:, None], values[:, None]"),
        jax=Call("data.at[jnp.arange(data.shape[0]), index].set(values)", emulated=True),
        onnx=Call("i = Unsqueeze(index, [1])\nv = Unsqueeze(values, [1])\n"
            "y = ScatterElements(data, i, v, axis=1)", emulated=True),
        mxnet=Call("nd.fill_element_0index(data, values, places)",
            setup="places = index.astype({dtype})"),
        numpy=Call("y = data.copy()\n"
            "np.put_along_axis(y, index[:, None], values[:, None], axis=1)", emulated=True)),
    picking("setitem", ("data", Input("value", shape=window_shape)), shapes=WINDOW, needs=BOTH,
        result=window_shape, shrinks=("none",), traffic=lambda v: both(v, window_shape(v)),
        absent={"onnxruntime": "an ONNX graph overwrites nothing"}, grad=False,
        torch=Call(lambda v: f"{window(v)} = value\ny = data", compilable=False),
        jax=Call(lambda v: window(v).replace("data[", "data.at[", 1) + ".set(value)", emulated=True,
            note="JAX arrays cannot be overwritten: the rest of the array is copied as well"),
        mxnet=lambda v: f"{window(v)} = value\ny = data",
        numpy=lambda v: f"{window(v)} = value\ny = data"),
    op("masked_fill", "indexing", ("data", Input("mask", integers(0, 2), "bool", grad=False)),
        shapes={"data": PLANE, "mask": PLANE}, value=0.5, flops=0.0,
        torch="torch.masked_fill(data, mask, {value})", jax="jnp.where(mask, {value}, data)",
        onnx="Where(mask, [{value}], data)",
        numpy=Call("np.where(mask, value, data)", setup="value = data.dtype.type({value})")),
    op("index_add", "indexing",
        ("data",
            Input("indices", below("data", 0), INDEX, grad=False, shape=lambda v: (v.count,)),
            Input("source", shape=lambda v: (v.count, v.data[1]))),
        shapes={"data": PLANE, "count": ROWS}, flops=lambda v: float(v.count * v.data[1]),
        needs={"len(data) == 2": ""},
        tolerance=8.0,
        torch="torch.index_add(data, 0, indices, source)", jax="data.at[indices].add(source)",
        numpy=Call("y = data.copy()\nnp.add.at(y, indices, source)", emulated=True)),
)  # fmt: skip
