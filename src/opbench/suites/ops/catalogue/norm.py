"""Normalisation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from opbench.define.program import POSITIVE
from opbench.suites.ops.entry import Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import PLANE, shaped

MAPS = {
    "small": (2, 4, 8, 8),
    "typical": (32, 16, 64, 64),
    "large": (64, 64, 112, 112),
    "skewed": (256, 512, 1, 1),
}
TOKENS = {
    "small": (8, 64),
    "typical": (1024, 1024),
    "large": (16384, 1024),
    "skewed": (10000, 10),
}


def channels(v: Values) -> Shape:
    return (v.data[1],)


def each(factor: float) -> Callable[[Values], float]:
    return lambda v: factor * prod(v.data)


SCALE = (Input("gamma", POSITIVE, shape=channels), Input("beta", shape=channels))
STATISTICS = (
    Input("mean", grad=False, shape=channels),
    Input("variance", POSITIVE, grad=False, shape=channels),
)
#: Along all axes but that of the channels.
WIDE = "[None, :, None, None]"

OPERATORS = (
    # In training: with the statistics of the batch. What frameworks keep of them on the side is the
    # work of the layer around the operator, and left out.
    Operator(
        "BatchNorm",
        "norm",
        (Input("data"), *SCALE),
        **shaped({"data": MAPS}, eps=1e-5),
        spelling={
            "torch": "F.batch_norm(data, None, None, gamma, beta, True, 0.1, {eps})",
            "jax": "m = jnp.mean(data, axis=(0, 2, 3), keepdims=True)\n"
            "v = jnp.var(data, axis=(0, 2, 3), keepdims=True)\n"
            f"y = (data - m) * lax.rsqrt(v + {{eps}}) * gamma{WIDE} + beta{WIDE}",
            "mxnet": Call(
                "with mx.autograd.train_mode():\n"
                "    y = nd.BatchNorm(data, gamma, beta, moving_mean, moving_var, eps={eps}, "
                "fix_gamma=False)",
                setup="moving_mean = nd.zeros_like(beta)\nmoving_var = nd.ones_like(beta)",
            ),
        },
        flops=each(8.0),
        tolerance=64.0,
        absent={
            "onnxruntime": "ONNX Runtime normalises with given statistics only: "
            "see BatchNormInference"
        },
    ),
    Operator(
        "BatchNormInference",
        "norm",
        (Input("data"), *SCALE, *STATISTICS),
        **shaped({"data": MAPS}, eps=1e-5),
        spelling={
            "torch": "F.batch_norm(data, mean, variance, gamma, beta, False, 0.1, {eps})",
            "jax": f"y = (data - mean{WIDE}) * lax.rsqrt(variance{WIDE} + {{eps}}) * "
            f"gamma{WIDE} + beta{WIDE}",
            "onnxruntime": "BatchNormalization(data, gamma, beta, mean, variance, epsilon={eps})",
            "mxnet": "nd.BatchNorm(data, gamma, beta, mean, variance, eps={eps}, "
            "fix_gamma=False, use_global_stats=True)",
        },
        flops=each(4.0),
        tolerance=64.0,
    ),
    Operator(
        "LayerNorm",
        "norm",
        (Input("data"), *SCALE),
        **shaped({"data": TOKENS}, eps=1e-5),
        spelling={
            "torch": lambda v: f"F.layer_norm(data, ({v.data[1]},), gamma, beta, {v.eps})",
            "jax": "m = jnp.mean(data, axis=-1, keepdims=True)\n"
            "v = jnp.var(data, axis=-1, keepdims=True)\n"
            "y = (data - m) * lax.rsqrt(v + {eps}) * gamma + beta",
            "onnxruntime": "LayerNormalization(data, gamma, beta, axis=-1, epsilon={eps})",
            "mxnet": "nd.LayerNorm(data, gamma, beta, axis=-1, eps={eps})",
        },
        flops=each(8.0),
        tolerance=32.0,
    ),
    Operator(
        "InstanceNorm",
        "norm",
        (Input("data"), *SCALE),
        **shaped({"data": {k: v for k, v in MAPS.items() if k != "skewed"}}, eps=1e-5),
        spelling={
            "torch": "F.instance_norm(data, weight=gamma, bias=beta, eps={eps})",
            "jax": "m = jnp.mean(data, axis=(2, 3), keepdims=True)\n"
            "v = jnp.var(data, axis=(2, 3), keepdims=True)\n"
            f"y = (data - m) * lax.rsqrt(v + {{eps}}) * gamma{WIDE} + beta{WIDE}",
            "onnxruntime": "InstanceNormalization(data, gamma, beta, epsilon={eps})",
            "mxnet": "nd.InstanceNorm(data, gamma, beta, eps={eps})",
        },
        flops=each(8.0),
        tolerance=32.0,
    ),
    Operator(
        "GroupNorm",
        "norm",
        (Input("data"), *SCALE),
        **shaped({"data": MAPS}, num_groups=4, eps=1e-5),
        spelling={
            "torch": "F.group_norm(data, {num_groups}, gamma, beta, {eps})",
            "jax": "g = data.reshape(data.shape[0], {num_groups}, -1)\n"
            "m = jnp.mean(g, axis=-1, keepdims=True)\n"
            "v = jnp.var(g, axis=-1, keepdims=True)\n"
            f"y = ((g - m) * lax.rsqrt(v + {{eps}})).reshape(data.shape) * gamma{WIDE} "
            f"+ beta{WIDE}",
            "onnxruntime": "GroupNormalization(data, gamma, beta, num_groups={num_groups}, "
            "epsilon={eps})",
            # MXNet 1.9 has one factor for each group, not for each channel.
            "mxnet": Call(
                "nd.GroupNorm(data, ones, zeros, num_groups={num_groups}, eps={eps}) "
                "* nd.reshape(gamma, shape=(1, -1, 1, 1)) + nd.reshape(beta, shape=(1, -1, 1, 1))",
                setup="ones = nd.ones(({num_groups},), {options})\n"
                "zeros = nd.zeros(({num_groups},), {options})",
            ),
        },
        flops=each(8.0),
        tolerance=32.0,
    ),
    Operator(
        "L2Normalization",
        "norm",
        (Input("data"),),
        **shaped({"data": PLANE}),
        spelling={
            "torch": "F.normalize(data, dim=1)",
            "onnxruntime": "LpNormalization(data, axis=1, p=2)",
            "mxnet": "nd.L2Normalization(data)",
            "numpy": "data / np.linalg.norm(data, axis=1, keepdims=True)",
        },
        flops=each(3.0),
        tolerance=8.0,
    ),
    Operator(
        "LRN",
        "norm",
        (Input("data"),),
        **shaped({"data": MAPS}, nsize=5, alpha=1e-4, beta=0.75, k=1.0),
        spelling={
            "torch": "F.local_response_norm(data, {nsize}, {alpha}, {beta}, {k})",
            "onnxruntime": "LRN(data, size={nsize}, alpha={alpha}, beta={beta}, bias={k})",
            "mxnet": "nd.LRN(data, nsize={nsize}, alpha={alpha}, beta={beta}, knorm={k})",
        },
        flops=each(30.0),
        tolerance=16.0,
    ),
    Operator(
        "RMSNorm",
        "norm",
        (Input("data"), SCALE[0]),
        **shaped({"data": TOKENS}, eps=1e-5),
        spelling={
            "torch": lambda v: f"F.rms_norm(data, ({v.data[1]},), gamma, {v.eps})",
            "jax": "data * lax.rsqrt(jnp.mean(jnp.square(data), axis=-1, keepdims=True) + {eps}) "
            "* gamma",
        },
        flops=each(5.0),
        tolerance=32.0,
    ),
)
