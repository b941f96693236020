"""Activation functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.define.program import uniform
from opbench.suites.ops.entry import Call, Input, Operator
from opbench.suites.ops.shapes import PLANE, shaped


def activation(
    name: str, spelling: Mapping[str, str | Call], flops: float = 15.0, **more: Any
) -> Operator:
    options = more.pop("options", {})
    return Operator(
        name,
        "activation",
        (Input("data"), *more.pop("inputs", ())),
        **shaped({"data": PLANE}, **options),
        spelling=spelling,
        flops=flops,
        **more,
    )


OPERATORS = (
    activation(
        "softmax",
        {
            "torch": "torch.softmax(data, {axis})",
            "jax": "nn.softmax(data, axis={axis})",
            "onnxruntime": "Softmax(data, axis={axis})",
            "mxnet": "nd.softmax(data, axis={axis})",
        },
        options={"axis": -1},
    ),
    activation(
        "log_softmax",
        {
            "torch": "torch.log_softmax(data, {axis})",
            "jax": "nn.log_softmax(data, axis={axis})",
            "onnxruntime": "LogSoftmax(data, axis={axis})",
            "mxnet": "nd.log_softmax(data, axis={axis})",
        },
        options={"axis": -1},
        tolerance=4.0,
    ),
    activation(
        "softmin",
        {
            "torch": "F.softmin(data, {axis})",
            "jax": "nn.softmax(-data, axis={axis})",
            "onnxruntime": "n = Neg(data)\ny = Softmax(n, axis={axis})",
            "mxnet": "nd.softmin(data, axis={axis})",
        },
        options={"axis": -1},
    ),
    activation(
        "softrelu",
        {
            "torch": "F.softplus(data)",
            "jax": "nn.softplus(data)",
            "onnxruntime": "Softplus(data)",
            "mxnet": "nd.Activation(data, act_type='softrelu')",
        },
        aliases=("softplus",),
    ),
    activation(
        "leaky",
        {
            "torch": "F.leaky_relu(data, {slope})",
            "jax": "nn.leaky_relu(data, {slope})",
            "onnxruntime": "LeakyRelu(data, alpha={slope})",
            "mxnet": "nd.LeakyReLU(data, act_type='leaky', slope={slope})",
        },
        flops=1.0,
        options={"slope": 0.25},
        aliases=("leaky_relu",),
        classic="LeakyReLU",
    ),
    activation(
        "prelu",
        {
            "torch": "torch.prelu(data, gamma)",
            "jax": "jnp.where(data >= 0, data, gamma * data)",
            "onnxruntime": "PRelu(data, gamma)",
            "mxnet": "nd.LeakyReLU(data, gamma, act_type='prelu')",
        },
        flops=1.0,
        inputs=(Input("gamma", uniform(0.1, 0.4), shape=lambda v: v.data[1:]),),
        classic="PReLU",
        tolerance=8.0,
    ),
    activation(
        "elu",
        {
            "torch": "F.elu(data, {alpha})",
            "jax": "nn.elu(data, {alpha})",
            "onnxruntime": "Elu(data, alpha={alpha})",
            "mxnet": "nd.LeakyReLU(data, act_type='elu', slope={alpha})",
        },
        options={"alpha": 1.0},
        classic="ELU",
    ),
    activation(
        "selu",
        {
            "torch": "torch.selu(data)",
            "jax": "nn.selu(data)",
            "onnxruntime": "Selu(data)",
            "mxnet": "nd.LeakyReLU(data, act_type='selu')",
        },
        classic="SELU",
    ),
    activation(
        "gelu",
        {
            "torch": "F.gelu(data)",
            "jax": "nn.gelu(data, approximate=False)",
            "onnxruntime": "Gelu(data)",
            "mxnet": "nd.LeakyReLU(data, act_type='gelu')",
        },
        tolerance=4.0,
    ),
    activation(
        "swish",
        {
            "torch": "F.silu(data)",
            "jax": "nn.silu(data)",
            "onnxruntime": "s = Sigmoid(data)\ny = Mul(data, s)",
            "mxnet": "data * nd.sigmoid(data)",
        },
        aliases=("silu",),
    ),
    # Slopes differ by default (1/6 in torch and JAX, 0.2 in ONNX and MXNet): all are given 1/6.
    activation(
        "hard_sigmoid",
        {
            "torch": "F.hardsigmoid(data)",
            "jax": "nn.hard_sigmoid(data)",
            "onnxruntime": "HardSigmoid(data, alpha=0.16666667, beta=0.5)",
            "mxnet": "nd.hard_sigmoid(data, alpha=0.16666667, beta=0.5)",
        },
        flops=3.0,
    ),
    activation(
        "hard_swish",
        {
            "torch": "F.hardswish(data)",
            "jax": "nn.hard_swish(data)",
            "onnxruntime": "HardSwish(data)",
        },
        flops=4.0,
    ),
    activation(
        "mish",
        {"torch": "F.mish(data)", "jax": "nn.mish(data)", "onnxruntime": "Mish(data)"},
        flops=35.0,
        tolerance=4.0,
    ),
    activation(
        "relu6",
        {
            "torch": "F.relu6(data)",
            "jax": "nn.relu6(data)",
            "onnxruntime": "Clip(data, 0.0, 6.0)",
            "mxnet": "nd.clip(data, 0.0, 6.0)",
        },
        flops=2.0,
    ),
    activation(
        "glu",
        {"torch": "F.glu(data, -1)", "jax": "nn.glu(data, -1)"},
        flops=16.0,
        result=lambda v: (v.data[0], v.data[1] // 2),
    ),
)
