"""Joining tensors, and taking them apart."""

from __future__ import annotations

from opbench.suites.ops.entry import ANY, Input, Operator
from opbench.suites.ops.shapes import PLANE, shaped

OPERATORS = (
    Operator(
        "concat",
        "join_split",
        (Input("a"), Input("b"), Input("c")),
        **shaped(dict.fromkeys("abc", PLANE), dim=1),
        spelling={
            "torch": "torch.cat((a, b, c), {dim})",
            "onnxruntime": "Concat(a, b, c, axis={dim})",
            "mxnet": "nd.concat(a, b, c, dim={dim})",
            "numpy": "np.concatenate((a, b, c), axis={dim})",
        },
        result=lambda v: (v.a[0], v.a[1] + v.b[1] + v.c[1]),
        flops=0.0,
        dtypes=ANY,
        aliases=("cat", "Concat"),
    ),
    Operator(
        "stack",
        "join_split",
        (Input("a"), Input("b"), Input("c")),
        **shaped(dict.fromkeys("abc", PLANE), axis=0),
        spelling={
            "torch": "torch.stack((a, b, c), {axis})",
            "onnxruntime": "d = Unsqueeze(a, [{axis}])\ne = Unsqueeze(b, [{axis}])\n"
            "f = Unsqueeze(c, [{axis}])\ny = Concat(d, e, f, axis={axis})",
            "mxnet": "nd.stack(a, b, c, axis={axis})",
            "numpy": "np.stack((a, b, c), axis={axis})",
        },
        result=lambda v: (3, *v.a),
        flops=0.0,
        dtypes=ANY,
    ),
    Operator(
        "split",
        "join_split",
        (Input("data"),),
        **shaped({"data": {**PLANE, "skewed": (10, 10000)}}, num_outputs=4, axis=1),
        spelling={
            "torch": lambda v: f"torch.split(data, {v.data[v.axis] // v.num_outputs}, {v.axis})",
            "jax": "tuple(jnp.split(data, {num_outputs}, axis={axis}))",
            "onnxruntime": lambda v: (
                ", ".join(f"y{i}" for i in range(v.num_outputs))
                + f" = Split(data, axis={v.axis}, num_outputs={v.num_outputs})"
            ),
            "mxnet": "nd.split(data, num_outputs={num_outputs}, axis={axis})",
            "numpy": "np.split(data, {num_outputs}, axis={axis})",
        },
        several=True,
        flops=0.0,
        dtypes=ANY,
        aliases=("SliceChannel",),
    ),
)
