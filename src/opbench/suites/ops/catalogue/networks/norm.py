"""Normalisation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from opbench.define.program import POSITIVE
from opbench.suites.ops.entry import Call, Shape, Values, weight
from opbench.suites.ops.shapes import (
    op,
    sizes,
)

MAPS = sizes((2, 4, 8, 8), (32, 16, 64, 64), (64, 64, 112, 112), (256, 512, 1, 1))
TOKENS = sizes((8, 64), (1024, 1024), (16384, 1024), (10000, 10))


def channels(v: Values) -> Shape:
    return (v.data[1],)


def width(v: Values) -> Shape:
    return tuple(v.data[-1:])


def each(factor: float) -> Callable[[Values], float]:
    return lambda v: factor * prod(v.data)


SCALE = (weight("gamma", POSITIVE, shape=channels), weight("beta", shape=channels))
#: For each position of the last side, however many others there are.
FEATURES = (weight("gamma", POSITIVE, shape=width), weight("beta", shape=width))
STATISTICS = (
    weight("mean", grad=False, shape=channels),
    weight("variance", POSITIVE, grad=False, shape=channels),
)
#: Along all axes but that of the channels.
WIDE = "[None, :, None, None]"
IMAGES = {"data": "n c h w"}

OPERATORS = (
    # In training: with the statistics of the batch. What frameworks keep of them on the side is the
    # work of the layer around the operator, and left out.
    op("BatchNorm", "norm", ("data", *SCALE), shapes=MAPS, eps=1e-5,
        needs={"eps > 0": "torch", "data[1] >= 1": "torch", "prod(data) != data[1]": "torch"},
        flops=each(8.0),
        tolerance=64.0, sides=IMAGES,
        absent={"onnxruntime": "ONNX Runtime normalises with given statistics only: "
            "see BatchNormInference"},
        torch="F.batch_norm(data, None, None, gamma, beta, True, 0.1, {eps})",
        jax=Call("m = jnp.mean(data, axis=(0, 2, 3), keepdims=True)\n"
            "v = jnp.var(data, axis=(0, 2, 3), keepdims=True)\n"
            f"y = (data - m) * lax.rsqrt(v + {{eps}}) * gamma{WIDE} + beta{WIDE}", emulated=True),
        mxnet=Call("with mx.autograd.train_mode():\n"
            "    y = nd.BatchNorm(data, gamma, beta, moving_mean, moving_var, eps={eps}, "
            "fix_gamma=False)",
            setup="moving_mean = nd.zeros_like(beta)\nmoving_var = nd.ones_like(beta)")),
    op("BatchNormInference", "norm", ("data", *SCALE, *STATISTICS), shapes=MAPS, eps=1e-5,
        needs={"eps >= 0": "torch", "data[1] >= 1": "torch"},
        flops=each(4.0), tolerance=64.0, sides=IMAGES,
        torch="F.batch_norm(data, mean, variance, gamma, beta, False, 0.1, {eps})",
        jax=Call(f"y = (data - mean{WIDE}) * lax.rsqrt(variance{WIDE} + {{eps}}) * "
            f"gamma{WIDE} + beta{WIDE}", emulated=True),
        onnx="BatchNormalization(data, gamma, beta, mean, variance, epsilon={eps})",
        mxnet="nd.BatchNorm(data, gamma, beta, mean, variance, eps={eps}, "
        "fix_gamma=False, use_global_stats=True)"),
    op("LayerNorm", "norm", ("data", *FEATURES), shapes=TOKENS, eps=1e-5, flops=each(8.0),
        needs={"data[-1] >= 1": "onnxruntime"},
        tolerance=32.0,
        torch=lambda v: f"F.layer_norm(data, ({v.data[-1]},), gamma, beta, {v.eps})",
        jax=Call("m = jnp.mean(data, axis=-1, keepdims=True)\n"
            "v = jnp.var(data, axis=-1, keepdims=True)\n"
            "y = (data - m) * lax.rsqrt(v + {eps}) * gamma + beta", emulated=True),
        onnx="LayerNormalization(data, gamma, beta, axis=-1, epsilon={eps})",
        mxnet="nd.LayerNorm(data, gamma, beta, axis=-1, eps={eps})"),
    op("InstanceNorm", "norm", ("data", *SCALE),
        shapes={k: v for k, v in MAPS.items() if k != "skewed"}, eps=1e-5,
        needs={"min(data[:2]) >= 1": "torch", "prod(data[2:]) != 1": "torch"}, flops=each(8.0),
        tolerance=32.0, sides=IMAGES,
        torch="F.instance_norm(data, weight=gamma, bias=beta, eps={eps})",
        jax=Call("m = jnp.mean(data, axis=(2, 3), keepdims=True)\n"
            "v = jnp.var(data, axis=(2, 3), keepdims=True)\n"
            f"y = (data - m) * lax.rsqrt(v + {{eps}}) * gamma{WIDE} + beta{WIDE}", emulated=True),
        onnx="InstanceNormalization(data, gamma, beta, epsilon={eps})",
        mxnet="nd.InstanceNorm(data, gamma, beta, eps={eps})"),
    # MXNet 1.9 has one factor for each group, not for each channel.
    op("GroupNorm", "norm", ("data", *SCALE), shapes=MAPS, num_groups=4, eps=1e-5, flops=each(8.0),
        needs={"min(data) >= 1": "onnxruntime jax"},
        tolerance=32.0, sides=IMAGES,
        torch="F.group_norm(data, {num_groups}, gamma, beta, {eps})",
        jax=Call("g = data.reshape(data.shape[0], {num_groups}, -1)\n"
            "m = jnp.mean(g, axis=-1, keepdims=True)\n"
            "v = jnp.var(g, axis=-1, keepdims=True)\n"
            f"y = ((g - m) * lax.rsqrt(v + {{eps}})).reshape(data.shape) * gamma{WIDE} "
            f"+ beta{WIDE}", emulated=True),
        onnx="GroupNormalization(data, gamma, beta, num_groups={num_groups}, "
        "epsilon={eps})",
        mxnet=Call("nd.GroupNorm(data, ones, zeros, num_groups={num_groups}, eps={eps}) "
            "* nd.reshape(gamma, shape=(1, -1, 1, 1)) + nd.reshape(beta, shape=(1, -1, 1, 1))",
            setup="ones = nd.ones(({num_groups},), {options})\n"
            "zeros = nd.zeros(({num_groups},), {options})", emulated=True)),
    op("L2Normalization", "norm", "data", aliases=("normalize",), flops=each(3.0), tolerance=8.0,
        sides={"data": "m k"},
        torch="F.normalize(data, dim=1)", onnx="LpNormalization(data, axis=1, p=2)",
        mxnet="nd.L2Normalization(data)",
        numpy=Call("data / np.linalg.norm(data, axis=1, keepdims=True)", emulated=True)),
    op("LRN", "norm", "data", shapes=MAPS, nsize=5, alpha=1e-4, beta=0.75, k=1.0, flops=each(30.0),
        needs=dict.fromkeys(("nsize % 2 == 1", "alpha > 0", "beta > 0"), "onnxruntime"),
        tolerance=16.0, sides=IMAGES,
        torch="F.local_response_norm(data, {nsize}, {alpha}, {beta}, {k})",
        onnx="LRN(data, size={nsize}, alpha={alpha}, beta={beta}, bias={k})",
        mxnet="nd.LRN(data, nsize={nsize}, alpha={alpha}, beta={beta}, knorm={k})"),
    op("RMSNorm", "norm", ("data", FEATURES[0]), shapes=TOKENS, eps=1e-5, flops=each(5.0),
        tolerance=32.0,
        torch=lambda v: f"F.rms_norm(data, ({v.data[-1]},), gamma, {v.eps})",
        jax=Call("data * lax.rsqrt(jnp.mean(jnp.square(data), axis=-1, keepdims=True) + {eps}) "
            "* gamma", emulated=True)),
)  # fmt: skip
