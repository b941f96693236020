"""Convolutions and pooling, channels first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from opbench.define.program import uniform
from opbench.suites.ops.entry import Call, Input, Operator, Shape, Values, weight
from opbench.suites.ops.shapes import (
    IMAGES,
    SIGNALS,
    op,
    sizes,
)

VOLUMES = sizes((1, 3, 8, 8, 8), (4, 3, 16, 64, 64), (8, 3, 32, 128, 128), (1, 3, 256, 8, 8))
#: Features half way through a network: transposed convolutions make them larger again.
MAPS = sizes((2, 8, 8, 8), (16, 32, 64, 64), (32, 64, 128, 128), (1, 8, 4, 4096))
#: Strides that 16 bits do not hold end the process in backward.
STRIDES = {"max(strides) < 2**15": "torch backward"}
#: What torch asks of windows, and of what looks at all pixels.
CHANNELS = {"data[1] >= 1": "torch onnxruntime"}
PIXELS = {
    "max": {"min(data[1:]) >= 1": "torch onnxruntime", "min(data[2:]) >= 1": "numpy jax"},
    "avg": {"min(data[1:]) >= 1": "onnxruntime"},
}
TRACES = sizes((2, 8, 64), (32, 32, 256), (64, 64, 4096))


def convolved(v: Values) -> Shape:
    """Shape of the result."""
    sides = zip(v.data[2:], v.kernel_size, v.strides, v.padding)
    return (v.data[0], v.channels, *((n + 2 * p - k) // s + 1 for n, k, s, p in sides))


def transposed(v: Values) -> Shape:
    grown = ((n - 1) * s + k for n, k, s in zip(v.data[2:], v.kernel_size, v.strides))
    return (v.data[0], v.channels, *grown)


def filtered(v: Values) -> Shape:
    """Shape of the result where every channel has a filter of its own."""
    sides = zip(v.data[2:], v.kernel_size, v.padding)
    return (*v.data[:2], *(n + 2 * p - k + 1 for n, k, p in sides))


def both_sides(padding: Shape) -> list[int]:
    """As ONNX writes padding: all beginnings, then all ends."""
    return [*padding, *padding]


def convolution(
    rank: int, shapes: Mapping[str, Shape], channels: int, kernel: int = 3, stride: int = 1
) -> Operator:
    letters = "DHW"[-rank:]
    layout = f"('NC{letters}', 'OI{letters}', 'NC{letters}')"
    inputs = (
        "data",
        # As a trained layer has them: the sum over a window stays near 1.
        weight("weight", uniform(-0.2, 0.2), shape=lambda v: weight_shape(v)),
        weight("bias", shape=lambda v: (v.channels,)),
    )
    return op(
        f"Conv{rank}D", "conv_pool", inputs, shapes, channels=channels,
        kernel_size=(kernel,) * rank, strides=(stride,) * rank, padding=(kernel // 2,) * rank,
        result=convolved, shrinks=("data",), tolerance=32.0,
        needs=STRIDES | {"data[1] >= 1": "onnxruntime"},
        aliases=("Convolution",) if rank == 2 else (),
        flops=lambda v: 2.0 * prod(convolved(v)) * v.data[1] * prod(v.kernel_size),
        torch=f"F.conv{rank}d(data, weight, bias, {{strides}}, {{padding}})",
        jax=lambda v: (
            f"lax.conv_general_dilated(data, weight, {v.strides}, "
            f"{[(p, p) for p in v.padding]}, dimension_numbers={layout}) "
            f"+ bias.reshape({(1, -1, *(1,) * rank)})"
        ),
        onnx=lambda v: (
            f"Conv(data, weight, bias, strides={list(v.strides)}, "
            f"pads={both_sides(v.padding)}, kernel_shape={list(v.kernel_size)})"
        ),
        mxnet="nd.Convolution(data, weight, bias, kernel={kernel_size}, stride={strides}, "
        "pad={padding}, num_filter={channels})",
    )  # fmt: skip


def weight_shape(v: Values) -> Shape:
    return (v.channels, v.data[1], *v.kernel_size)


def deconvolution(rank: int, shapes: Mapping[str, Shape], channels: int) -> Operator:
    letters = "DHW"[-rank:]
    layout = f"('NC{letters}', 'OI{letters}', 'NC{letters}')"
    inputs = (
        "data",
        weight("weight", uniform(-0.2, 0.2),
            shape=lambda v: (v.data[1], v.channels, *v.kernel_size)),
        weight("bias", shape=lambda v: (v.channels,)),
    )  # fmt: skip
    return op(
        f"Conv{rank}DTranspose", "conv_pool", inputs, shapes, channels=channels,
        kernel_size=(2,) * rank, strides=(2,) * rank, result=transposed, shrinks=("data",),
        tolerance=32.0, flops=lambda v: 2.0 * prod(v.data) * v.channels * prod(v.kernel_size),
        needs=STRIDES | {"min(data[1:]) >= 1": "torch", "min(data[2:]) >= 1": "onnxruntime"},
        torch=f"F.conv_transpose{rank}d(data, weight, bias, {{strides}})",
        # Its `transpose_kernel` means the gradient of a convolution, as the others have it; its
        # 'VALID' adds a border where strides are longer than the kernel.
        jax=lambda v: (
            f"lax.conv_transpose(data, weight, {v.strides}, "
            f"{[(k - 1, k - 1) for k in v.kernel_size]}, "
            f"dimension_numbers={layout}, transpose_kernel=True) "
            f"+ bias.reshape({(1, -1, *(1,) * rank)})"
        ),
        onnx=lambda v: (
            f"ConvTranspose(data, weight, bias, strides={list(v.strides)}, "
            f"kernel_shape={list(v.kernel_size)})"
        ),
        mxnet="nd.Deconvolution(data, weight, bias, kernel={kernel_size}, "
        "stride={strides}, num_filter={channels}, no_bias=False)",
    )  # fmt: skip


def pooled(v: Values) -> Shape:
    sides = zip(v.data[2:], v.pool_size, v.strides)
    return (*v.data[:2], *((n - k) // s + 1 for n, k, s in sides))


def pooling_flops(v: Values) -> float:
    return float(prod(pooled(v)) * prod(v.pool_size))


def windows(start: str, reduce: str) -> Callable[[Values], str]:
    """How JAX pools: any reduction over windows."""

    def text(v: Values) -> str:
        size, step = (1, 1, *v.pool_size), (1, 1, *v.strides)
        return f"lax.reduce_window(data, {start}, {reduce}, {size}, {step}, 'VALID')"

    return text


def pooling(
    name: str, rank: int, kind: str, shapes: Mapping[str, Shape], pool: Shape, **more: Any
) -> Operator:
    jax = windows("-jnp.inf", "lax.max") if kind == "max" else windows("0.0", "lax.add")
    onnx = {"max": "MaxPool", "avg": "AveragePool"}[kind]
    return op(
        name, "conv_pool", "data", shapes, pool_size=pool, strides=pool, result=pooled,
        flops=pooling_flops, tolerance=4.0, needs=CHANNELS,
        torch=f"F.{kind}_pool{rank}d(data, {{pool_size}}, {{strides}})",
        jax=jax if kind == "max" else Call(lambda v: f"{jax(v)} / {prod(v.pool_size)}",
            emulated=True),
        onnx=lambda v: (
            f"{onnx}(data, kernel_shape={list(v.pool_size)}, strides={list(v.strides)})"
        ),
        mxnet=f"nd.Pooling(data, kernel={{pool_size}}, stride={{strides}}, pool_type='{kind}')",
        **more,
    )  # fmt: skip


def global_pooling(name: str, rank: int, kind: str, shapes: Mapping[str, Shape]) -> Operator:
    axes = tuple(range(2, 2 + rank))
    onnx = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}[kind]
    return op(
        name, "conv_pool", "data", shapes, result=lambda v: (*v.data[:2], *(1,) * rank),
        flops=lambda v: float(prod(v.data)), tolerance=16.0, needs=PIXELS[kind],
        aliases=(name.removesuffix("2D"),) if rank == 2 else (),
        torch=f"F.adaptive_{kind}_pool{rank}d(data, 1)",
        onnx=f"{onnx}(data)",
        mxnet=f"nd.Pooling(data, kernel={(1,) * rank}, global_pool=True, pool_type='{kind}')",
        numpy=f"np.{'max' if kind == 'max' else 'mean'}(data, axis={axes}, keepdims=True)",
    )  # fmt: skip


OPERATORS = (
    convolution(1, SIGNALS, 64),
    # As the first of a network: many channels at half the resolution.
    convolution(2, IMAGES, 64, stride=2),
    convolution(3, VOLUMES, 16),
    deconvolution(1, TRACES, 32),
    deconvolution(2, MAPS, 16),
    pooling("MaxPool1D", 1, "max", SIGNALS, (2,)),
    pooling("MaxPool2D", 2, "max", IMAGES, (2, 2)),
    pooling("AvgPool1D", 1, "avg", SIGNALS, (2,)),
    pooling("AvgPool2D", 2, "avg", IMAGES, (2, 2)),
    op("SumPool", "conv_pool", "data", shapes=IMAGES, pool_size=(2, 2), strides=(2, 2),
        result=pooled, flops=pooling_flops, tolerance=4.0, needs=CHANNELS,
        absent={"onnxruntime": "LpPool of ONNX sums absolute values, not values"},
        torch="F.avg_pool2d(data, {pool_size}, {strides}, divisor_override=1)",
        jax=windows("0.0", "lax.add"),
        mxnet="nd.Pooling(data, kernel={pool_size}, stride={strides}, pool_type='sum')"),
    global_pooling("GlobalMaxPool1D", 1, "max", SIGNALS),
    global_pooling("GlobalMaxPool2D", 2, "max", IMAGES),
    global_pooling("GlobalAvgPool1D", 1, "avg", SIGNALS),
    global_pooling("GlobalAvgPool2D", 2, "avg", IMAGES),
    # A region is (picture, left, top, right, bottom): random corners, sixteen pixels wide.
    op("ROIPooling", "conv_pool",
        ("data", Input("corners", uniform(0.0, 16.0), grad=False, shape=lambda v: (v.rois, 2))),
        shapes=sizes((1, 4, 32, 32), (1, 64, 64, 64)), rois=64,
        needs={"data[0] >= 1": "onnxruntime", "spatial_scale > 0": "onnxruntime"},
        pooled_size=(7, 7),
        spatial_scale=1.0, result=lambda v: (v.rois, v.data[1], *v.pooled_size), flops=None,
        shrinks=("none",), absent={"torch": "torch has none (torchvision does)"},
        mxnet=Call("nd.ROIPooling(data, regions, pooled_size={pooled_size}, "
            "spatial_scale={spatial_scale})",
            setup="begin = nd.floor(corners)\n"
            "regions = nd.concat(nd.zeros_like(begin[:, :1]), begin, begin + 15, dim=1)"),
        onnx=Call("MaxRoiPool(data, regions, pooled_shape={pooled_size}, "
            "spatial_scale={spatial_scale})",
            setup="begin = np.floor(corners)\nregions = np.concatenate("
            "[np.zeros_like(begin[:, :1]), begin, begin + 15], axis=1)")),
    op("DepthwiseConv2D", "conv_pool",
        ("data",
            weight("weight", uniform(-0.3, 0.3), shape=lambda v: (v.data[1], 1, *v.kernel_size)),
            weight("bias", shape=lambda v: v.data[1:2])), shapes=MAPS, kernel_size=(3, 3),
        padding=(1, 1), flops=lambda v: 2.0 * prod(filtered(v)) * prod(v.kernel_size),
        result=filtered, shrinks=("data",), needs={"data[1] >= 1": ""},
        tolerance=32.0,
        torch=lambda v: (f"F.conv2d(data, weight, bias, padding={v.padding}, groups={v.data[1]})"),
        jax=lambda v: (
            f"lax.conv_general_dilated(data, weight, (1, 1), {[(p, p) for p in v.padding]}, "
            f"dimension_numbers=('NCHW', 'OIHW', 'NCHW'), feature_group_count={v.data[1]}) "
            "+ bias.reshape(1, -1, 1, 1)"
        ),
        onnx=lambda v: (
            f"Conv(data, weight, bias, pads={both_sides(v.padding)}, "
            f"kernel_shape={list(v.kernel_size)}, group={v.data[1]})"
        ),
        mxnet=lambda v: (
            f"nd.Convolution(data, weight, bias, kernel={v.kernel_size}, pad={v.padding}, "
            f"num_filter={v.data[1]}, num_group={v.data[1]})"
        )),
)  # fmt: skip
