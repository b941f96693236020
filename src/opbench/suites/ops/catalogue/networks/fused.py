"""Operators that compilers and libraries join: each as one, and its parts at the same shapes.

The form `fused` is what a framework does best in one statement: a kernel of its own, folded
weights, or a graph it compiles. The other forms are the parts, one by one. Their sum over `fused`
is the gain of fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from opbench.define.program import POSITIVE, uniform
from opbench.suites.ops.catalogue.networks.conv_pool import convolved
from opbench.suites.ops.catalogue.networks.norm import WIDE
from opbench.suites.ops.entry import Call, Input, Operator, Part, Shape, Values, weight
from opbench.suites.ops.shapes import (
    op,
    sizes,
)

#: As in the middle of a network: enough channels that the convolution is one of matrices.
FEATURES = sizes((1, 8, 16, 16), (8, 32, 56, 56), (32, 64, 112, 112), (1, 16, 4, 4096))
ROWS = sizes((16, 64), (512, 512), (4096, 1024), (10000, 16))
HEADS = sizes((1, 2, 16, 16), (4, 8, 128, 64), (8, 16, 1024, 64), (1, 1, 2048, 16))
SEQUENCE = "sequence"
KERNEL = "kernel"
GRAPH = "graph"

CONV_INPUTS = (
    Input("data"),
    weight("weight", uniform(-0.2, 0.2), shape=lambda v: (v.channels, v.data[1], *v.kernel_size)),
    weight("bias", shape=lambda v: (v.channels,)),
)
BATCH_INPUTS = (
    weight("gamma", POSITIVE, shape=lambda v: (v.channels,)),
    weight("beta", shape=lambda v: (v.channels,)),
    weight("mean", grad=False, shape=lambda v: (v.channels,)),
    weight("variance", POSITIVE, grad=False, shape=lambda v: (v.channels,)),
)
CONV_OPTIONS = {"channels": 32, "kernel_size": (3, 3), "strides": (1, 1), "padding": (1, 1)}


def conv_params(v: Values) -> dict[str, Any]:
    return {name: getattr(v, name) for name in ("data", *CONV_OPTIONS)}


def at(name: str, shape: Callable[[Values], Shape]) -> Callable[[Values], Mapping[str, Any]]:
    return lambda v: {name: tuple(shape(v))}


CONV = Part("Conv2D", conv_params)
RELU = Part("relu", at("data", convolved))
BATCH = Part("BatchNormInference", at("data", convolved))


def torch_conv(v: Values) -> str:
    return f"F.conv2d(data, weight, bias, {v.strides}, {v.padding})"


def jax_conv(v: Values) -> str:
    pads = [(p, p) for p in v.padding]
    return (
        f"lax.conv_general_dilated(data, weight, {v.strides}, {pads}, "
        "dimension_numbers=('NCHW', 'OIHW', 'NCHW')) + bias[None, :, None, None]"
    )


def onnx_conv(v: Values) -> str:
    return (
        f"Conv(data, weight, bias, strides={list(v.strides)}, "
        f"pads={[*v.padding, *v.padding]}, kernel_shape={list(v.kernel_size)})"
    )


def mxnet_conv(v: Values) -> str:
    return (
        f"nd.Convolution(data, weight, bias, kernel={v.kernel_size}, stride={v.strides}, "
        f"pad={v.padding}, num_filter={v.channels})"
    )


TORCH_BATCH = "F.batch_norm({}, mean, variance, gamma, beta, False, 0.1, 1e-5)"
JAX_BATCH = f"({{}} - mean{WIDE}) * lax.rsqrt(variance{WIDE} + 1e-5) * gamma{WIDE} + beta{WIDE}"
ONNX_BATCH = "BatchNormalization({}, gamma, beta, mean, variance, epsilon=1e-5)"
MXNET_BATCH = (
    "nd.BatchNorm({}, gamma, beta, mean, variance, eps=1e-5, fix_gamma=False, "
    "use_global_stats=True)"
)
#: What `torch.nn.utils.fusion` does: the normalisation becomes part of the weights.
FOLDED = """\
scale = gamma * torch.rsqrt(variance + 1e-5)
folded = weight * scale[:, None, None, None]
shift = beta + (bias - mean) * scale"""


def folded_conv(v: Values) -> str:
    return f"F.conv2d(data, folded, shift, {v.strides}, {v.padding})"


def fused(
    name: str,
    inputs: tuple[str | Input, ...],
    shapes: Mapping[str, Any],
    parts: tuple[Part, ...],
    flops: float | Callable[[Values], float] | None,
    **more: Any,
) -> Operator:
    given = {"tolerance": 64.0, **more}
    return op(name, "fused", inputs, shapes, parts=parts, flops=flops, **given)


def dense(
    name: str, inputs: tuple[str | Input, ...], parts: tuple[Part, ...], **more: Any
) -> Operator:
    """A product of `data` with `units` columns, and what follows it."""
    return fused(
        name, inputs, {"data": ROWS, "units": UNITS}, parts,
        lambda v: 2.0 * v.data[0] * v.data[1] * v.units, result=product, shrinks=("data",), **more,
    )  # fmt: skip


def convolution(
    name: str, parts: tuple[Part, ...], inputs: tuple[Input, ...] = CONV_INPUTS, **more: Any
) -> Operator:
    return fused(
        name, inputs, {"data": FEATURES}, parts,
        lambda v: 2.0 * v.data[1] * prod(v.kernel_size) * prod(convolved(v)),
        **CONV_OPTIONS, result=convolved, shrinks=("data",),
        needs={"data[1] >= 1": "onnxruntime"}, **more,
    )  # fmt: skip


def product(v: Values) -> Shape:
    return (v.data[0], v.units)


DENSE_INPUTS = (
    Input("data"),
    weight("weight", uniform(-0.1, 0.1), shape=lambda v: (v.units, v.data[1])),
    weight("bias", shape=lambda v: (v.units,)),
)
UNITS = sizes(64, 512, 4096, 16)

OPERATORS = (
    convolution("conv_relu", (CONV, RELU),
        torch=Call(lambda v: f"{torch_conv(v)}.relu_()", how=SEQUENCE),
        compiled=Call(lambda v: f"torch.relu({torch_conv(v)})", how=GRAPH),
        jax=Call(lambda v: f"nn.relu({jax_conv(v)})", how=GRAPH),
        onnx=Call(lambda v: f"c = {onnx_conv(v)}\ny = Relu(c)", how=GRAPH),
        mxnet=Call(lambda v: f"nd.relu({mxnet_conv(v)})", how=SEQUENCE)),
    convolution("conv_batchnorm", (CONV, BATCH), (*CONV_INPUTS, *BATCH_INPUTS),
        torch=Call(folded_conv, setup=FOLDED, how=KERNEL, differentiable=False),
        compiled=Call(lambda v: TORCH_BATCH.format(torch_conv(v)), how=GRAPH),
        jax=Call(lambda v: f"c = {jax_conv(v)}\ny = {JAX_BATCH.format('c')}", how=GRAPH),
        onnx=Call(lambda v: f"c = {onnx_conv(v)}\ny = {ONNX_BATCH.format('c')}", how=GRAPH),
        mxnet=Call(lambda v: MXNET_BATCH.format(mxnet_conv(v)), how=SEQUENCE)),
    convolution("conv_batchnorm_relu", (CONV, BATCH, RELU), (*CONV_INPUTS, *BATCH_INPUTS),
        torch=Call(lambda v: f"{folded_conv(v)}.relu_()", setup=FOLDED, how=KERNEL,
            differentiable=False),
        compiled=Call(lambda v: f"torch.relu({TORCH_BATCH.format(torch_conv(v))})", how=GRAPH),
        jax=Call(lambda v: f"c = {jax_conv(v)}\ny = nn.relu({JAX_BATCH.format('c')})", how=GRAPH),
        onnx=Call(lambda v: f"c = {onnx_conv(v)}\nb = {ONNX_BATCH.format('c')}\ny = Relu(b)",
            how=GRAPH),
        mxnet=Call(lambda v: f"nd.relu({MXNET_BATCH.format(mxnet_conv(v))})", how=SEQUENCE)),
    dense("linear_gelu", DENSE_INPUTS,
        (Part("FullyConnected", lambda v: {"data": v.data, "units": v.units}),
            Part("gelu", at("data", product))),
        torch=Call("F.gelu(F.linear(data, weight, bias))", how=SEQUENCE),
        jax=Call("nn.gelu(data @ weight.T + bias, approximate=False)", how=GRAPH),
        onnx=Call("g = Gemm(data, weight, bias, transB=1)\ny = Gelu(g)", how=GRAPH),
        mxnet=Call("nd.LeakyReLU(nd.FullyConnected(data, weight, bias, num_hidden={units}), "
            "act_type='gelu')", how=SEQUENCE)),
    # One call of torch's with bias and activation in it; it has no gradient.
    dense("matmul_bias_relu",
        ("data", weight("weight", uniform(-0.1, 0.1), shape=lambda v: (v.data[1], v.units)),
            weight("bias", shape=lambda v: (v.units,))),
        (Part("dot", lambda v: {"lhs": v.data, "rhs": (v.data[1], v.units)}),
            Part("add", lambda v: {"lhs": product(v), "rhs": (1, v.units)}),
            Part("relu", at("data", product))),
        torch=Call("torch._addmm_activation(bias, data, weight)", how=KERNEL, differentiable=False),
        compiled=Call("torch.relu(data @ weight + bias)", how=GRAPH),
        jax=Call("nn.relu(data @ weight + bias)", how=GRAPH),
        onnx=Call("p = MatMul(data, weight)\na = Add(p, bias)\ny = Relu(a)", how=GRAPH),
        mxnet=Call("nd.relu(nd.broadcast_add(nd.dot(data, weight), nd.expand_dims(bias, axis=0)))",
            how=SEQUENCE)),
    fused("layernorm_residual",
        ("data", Input("residual", shape=lambda v: tuple(v.data)),
            weight("gamma", POSITIVE, shape=lambda v: (v.data[1],)),
            weight("beta", shape=lambda v: (v.data[1],))), {"data": ROWS},
        (Part("add", lambda v: {"lhs": v.data, "rhs": v.data}),
            Part("LayerNorm", lambda v: {"data": v.data})), 9.0,
            needs={"len(data) == 2": "", "data[1] >= 1": "onnxruntime"},
        torch=Call(lambda v: f"F.layer_norm(data + residual, ({v.data[1]},), gamma, beta, 1e-5)",
            how=SEQUENCE),
        jax=Call("s = data + residual\n"
            "m = jnp.mean(s, axis=-1, keepdims=True)\n"
            "v = jnp.var(s, axis=-1, keepdims=True)\n"
            "y = (s - m) * lax.rsqrt(v + 1e-5) * gamma + beta", how=GRAPH),
        onnx=Call("s = Add(data, residual)\n"
            "y = LayerNormalization(s, gamma, beta, axis=-1, epsilon=1e-5)", how=GRAPH),
        mxnet=Call("nd.LayerNorm(data + residual, gamma, beta, axis=-1, eps=1e-5)", how=SEQUENCE)),
    fused("attention",
        tuple(Input(each, shape=lambda v: tuple(v.data)) for each in ("q", "k", "v")),
        {"data": HEADS},
        (Part("batch_dot", lambda v: products(v, v.data[2], v.data[3], v.data[2])),
            Part("softmax", lambda v: {"data": (v.data[0] * v.data[1] * v.data[2], v.data[2])}),
            Part("batch_dot", lambda v: products(v, v.data[2], v.data[2], v.data[3]))),
        lambda v: 4.0 * v.data[0] * v.data[1] * v.data[2] ** 2 * v.data[3],
        torch=Call("F.scaled_dot_product_attention(q, k, v)", how=KERNEL),
        jax=Call(
            lambda v: (f"nn.softmax((q @ k.swapaxes(-1, -2)) * {v.data[3] ** -0.5}, axis=-1) @ v"),
            how=GRAPH),
        onnx=Call(lambda v: (
                "t = Transpose(k, perm=[0, 1, 3, 2])\np = MatMul(q, t)\n"
                f"s = Mul(p, [{v.data[3] ** -0.5}])\na = Softmax(s, axis=-1)\n"
                "y = MatMul(a, v)"
            ), how=GRAPH)),
)  # fmt: skip


def products(v: Values, m: int, k: int, n: int) -> dict[str, Shape]:
    """One product of matrices for each head."""
    heads = v.data[0] * v.data[1]
    return {"lhs": (heads, m, k), "rhs": (heads, k, n)}
