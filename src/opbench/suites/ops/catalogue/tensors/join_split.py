"""Joining tensors, and taking them apart."""

from __future__ import annotations

from opbench.suites.ops.entry import ALL, Call, Values
from opbench.suites.ops.shapes import (
    PLANE,
    op,
)


def cuts(v: Values) -> list[int]:
    """Where each part but the first begins. Of a side that does not divide, the first parts are one
    longer, as `numpy.array_split` has it."""
    side = v.data[v.axis]
    if not 1 <= v.num_outputs <= side:
        raise ValueError(f"a side of {side} does not split into {v.num_outputs} parts")
    size, longer = divmod(side, v.num_outputs)
    return [i * size + min(i, longer) for i in range(1, v.num_outputs)]


def lengths(v: Values) -> list[int]:
    ends = [*cuts(v), v.data[v.axis]]
    return [end - begin for begin, end in zip([0, *ends], ends)]


def even(v: Values) -> bool:
    return len(set(lengths(v))) == 1


def split_in_torch(v: Values) -> str:
    size = lengths(v)[0] if even(v) else lengths(v)
    return f"torch.split(data, {size}, {v.axis})"


def split_in_numpy(v: Values) -> str:
    return f"np.split(data, {v.num_outputs if even(v) else cuts(v)}, axis={v.axis})"


def split_in_onnx(v: Values) -> str:
    names = ", ".join(f"y{i}" for i in range(v.num_outputs))
    return f"{names} = Split(data, {lengths(v)}, axis={v.axis})"


def split_in_mxnet(v: Values) -> str:
    if even(v):
        return f"nd.split(data, num_outputs={v.num_outputs}, axis={v.axis})"
    return f"nd.split_v2(data, {tuple(cuts(v))}, axis={v.axis})"


OPERATORS = (
    op("concat", "join_split", ("a", "b", "c"), dim=1,
        result=lambda v: (v.a[0], v.a[1] + v.b[1] + v.c[1]), flops=0.0, dtypes=ALL,
        aliases=("cat", "Concat"),
        torch="torch.cat((a, b, c), {dim})", onnx="Concat(a, b, c, axis={dim})",
        mxnet="nd.concat(a, b, c, dim={dim})", numpy="np.concatenate((a, b, c), axis={dim})"),
    op("stack", "join_split", ("a", "b", "c"), axis=0, result=lambda v: (3, *v.a), flops=0.0,
        dtypes=ALL,
        torch="torch.stack((a, b, c), {axis})",
        onnx=Call("d = Unsqueeze(a, [{axis}])\ne = Unsqueeze(b, [{axis}])\n"
            "f = Unsqueeze(c, [{axis}])\ny = Concat(d, e, f, axis={axis})", emulated=True),
        mxnet="nd.stack(a, b, c, axis={axis})", numpy="np.stack((a, b, c), axis={axis})"),
    op("split", "join_split", "data", shapes={**PLANE, "skewed": (10, 10000)}, num_outputs=4,
        axis=1, several=True, flops=0.0, dtypes=ALL, aliases=("SliceChannel",),
        torch=split_in_torch, jax=lambda v: f"tuple(j{split_in_numpy(v)})",
        onnx=split_in_onnx, mxnet=split_in_mxnet, numpy=split_in_numpy),
)  # fmt: skip
