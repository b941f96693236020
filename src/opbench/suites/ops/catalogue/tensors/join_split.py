"""Joining tensors, and taking them apart."""

from __future__ import annotations

from opbench.suites.ops.entry import ALL
from opbench.suites.ops.shapes import (
    PLANE,
    op,
)

OPERATORS = (
    op("concat", "join_split", ("a", "b", "c"), dim=1,
        result=lambda v: (v.a[0], v.a[1] + v.b[1] + v.c[1]), flops=0.0, dtypes=ALL,
        aliases=("cat", "Concat"),
        torch="torch.cat((a, b, c), {dim})", onnx="Concat(a, b, c, axis={dim})",
        mxnet="nd.concat(a, b, c, dim={dim})", numpy="np.concatenate((a, b, c), axis={dim})"),
    op("stack", "join_split", ("a", "b", "c"), axis=0, result=lambda v: (3, *v.a), flops=0.0,
        dtypes=ALL,
        torch="torch.stack((a, b, c), {axis})",
        onnx="d = Unsqueeze(a, [{axis}])\ne = Unsqueeze(b, [{axis}])\n"
        "f = Unsqueeze(c, [{axis}])\ny = Concat(d, e, f, axis={axis})",
        mxnet="nd.stack(a, b, c, axis={axis})", numpy="np.stack((a, b, c), axis={axis})"),
    op("split", "join_split", "data", shapes={**PLANE, "skewed": (10, 10000)}, num_outputs=4,
        axis=1, several=True, flops=0.0, dtypes=ALL, aliases=("SliceChannel",),
        torch=lambda v: f"torch.split(data, {v.data[v.axis] // v.num_outputs}, {v.axis})",
        jax="tuple(jnp.split(data, {num_outputs}, axis={axis}))",
        onnx=lambda v: (
            ", ".join(f"y{i}" for i in range(v.num_outputs))
            + f" = Split(data, axis={v.axis}, num_outputs={v.num_outputs})"
        ), mxnet="nd.split(data, num_outputs={num_outputs}, axis={axis})",
        numpy="np.split(data, {num_outputs}, axis={axis})"),
)  # fmt: skip
