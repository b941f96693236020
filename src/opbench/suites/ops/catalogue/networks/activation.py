"""Activation functions."""

from __future__ import annotations

from typing import Any

from opbench.define.program import uniform
from opbench.suites.ops.entry import Call, Operator, weight
from opbench.suites.ops.shapes import (
    op,
)


def activation(name: str, flops: float = 15.0, **more: Any) -> Operator:
    return op(name, "activation", ("data", *more.pop("inputs", ())), flops=flops, **more)


OPERATORS = (
    activation("softmax", axis=-1,
        torch="torch.softmax(data, {axis})", jax="nn.softmax(data, axis={axis})",
        onnx="Softmax(data, axis={axis})", mxnet="nd.softmax(data, axis={axis})"),
    activation("log_softmax", axis=-1, tolerance=4.0,
        torch="torch.log_softmax(data, {axis})", jax="nn.log_softmax(data, axis={axis})",
        onnx="LogSoftmax(data, axis={axis})", mxnet="nd.log_softmax(data, axis={axis})"),
    activation("softmin", axis=-1,
        torch="F.softmin(data, {axis})", jax=Call("nn.softmax(-data, axis={axis})", emulated=True),
        onnx=Call("n = Neg(data)\ny = Softmax(n, axis={axis})", emulated=True),
        mxnet="nd.softmin(data, axis={axis})"),
    activation("SoftmaxActivation", needs={"len(data) >= 2": "torch"},
        mxnet="nd.SoftmaxActivation(data)",
        torch=Call("torch.softmax(data, 1)", note="the same call as softmax")),
    activation("softrelu", aliases=("softplus",),
        torch="F.softplus(data)", jax="nn.softplus(data)", onnx="Softplus(data)",
        mxnet="nd.Activation(data, act_type='softrelu')"),
    activation("leaky", flops=1.0, slope=0.25, aliases=("leaky_relu",), classic="LeakyReLU",
        torch="F.leaky_relu(data, {slope})", jax="nn.leaky_relu(data, {slope})",
        onnx="LeakyRelu(data, alpha={slope})",
        mxnet="nd.LeakyReLU(data, act_type='leaky', slope={slope})"),
    activation("prelu", flops=1.0, needs={"len(data) <= 2": "torch"},
        inputs=(weight("gamma", uniform(0.1, 0.4), shape=lambda v: v.data[1:]),), classic="PReLU",
        tolerance=8.0,
        torch="torch.prelu(data, gamma)",
        jax=Call("jnp.where(data >= 0, data, gamma * data)", emulated=True),
        onnx="PRelu(data, gamma)", mxnet="nd.LeakyReLU(data, gamma, act_type='prelu')"),
    activation("elu", alpha=1.0, classic="ELU",
        torch="F.elu(data, {alpha})", jax="nn.elu(data, {alpha})", onnx="Elu(data, alpha={alpha})",
        mxnet="nd.LeakyReLU(data, act_type='elu', slope={alpha})"),
    activation("selu", classic="SELU",
        torch="torch.selu(data)", jax="nn.selu(data)", onnx="Selu(data)",
        mxnet="nd.LeakyReLU(data, act_type='selu')"),
    activation("gelu", tolerance=4.0,
        torch="F.gelu(data)", jax="nn.gelu(data, approximate=False)", onnx="Gelu(data)",
        mxnet="nd.LeakyReLU(data, act_type='gelu')"),
    activation("swish", aliases=("silu",),
        torch="F.silu(data)", jax="nn.silu(data)",
        onnx=Call("s = Sigmoid(data)\ny = Mul(data, s)", emulated=True),
        mxnet=Call("data * nd.sigmoid(data)", emulated=True)),
    # Slopes differ by default (1/6 in torch and JAX, 0.2 in ONNX and MXNet): all are given 1/6.
    activation("hard_sigmoid", flops=3.0,
        torch="F.hardsigmoid(data)", jax="nn.hard_sigmoid(data)",
        onnx="HardSigmoid(data, alpha=0.16666667, beta=0.5)",
        mxnet="nd.hard_sigmoid(data, alpha=0.16666667, beta=0.5)"),
    activation("hard_swish", flops=4.0,
        torch="F.hardswish(data)", jax="nn.hard_swish(data)", onnx="HardSwish(data)"),
    activation("mish", flops=35.0, tolerance=4.0,
        torch="F.mish(data)", jax="nn.mish(data)", onnx="Mish(data)"),
    activation("relu6", flops=2.0,
        torch="F.relu6(data)", jax="nn.relu6(data)",
        onnx=Call("Clip(data, 0.0, 6.0)", note="the same call as clip"),
        mxnet=Call("nd.clip(data, 0.0, 6.0)", note="the same call as clip")),
    activation("glu", flops=16.0, result=lambda v: (*v.data[:-1], v.data[-1] // 2), any_rank=True,
        torch="F.glu(data, -1)", jax="nn.glu(data, -1)"),
)  # fmt: skip
