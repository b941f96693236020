"""Sampling and patches of images: part of the category `nn_basic`."""

from __future__ import annotations

from math import prod

from opbench.define.program import uniform
from opbench.suites.ops.entry import Call, Input, Shape, Values
from opbench.suites.ops.shapes import (
    op,
    sizes,
)

PICTURES = sizes((2, 4, 16, 16), (16, 16, 64, 64), (32, 32, 128, 128), (1, 4, 4, 4096))
PATCHES = sizes((1, 4, 16, 16), (4, 16, 32, 32))
#: Coordinates within a picture, whose corners are at -1 and 1.
INSIDE = uniform(-0.9, 0.9)


def enlarged(v: Values) -> Shape:
    return (*v.data[:2], v.data[2] * v.scale, v.data[3] * v.scale)


def patches(picture: Shape, v: Values) -> Shape:
    """A column for each place of the kernel in the picture."""
    places = (n + 2 * p - k + 1 for n, k, p in zip(picture[2:], v.kernel, v.pad))
    return (picture[0], picture[1] * prod(v.kernel), prod(places))


OPERATORS = (
    # Its gradient has another layout too, and no way to say so.
    op("GridGenerator", "nn_basic", (Input("theta", uniform(-0.5, 0.5)),),
        shapes={"theta": sizes((2, 2, 3), (32, 2, 3), (64, 2, 3)),
            "target_shape": sizes((16, 16), (128, 128), (512, 512))},
        needs={"theta[0] >= 1": "", "theta[1:] == (2, 3)": "", "len(target_shape) == 2": ""},
        result=lambda v: (v.theta[0], *v.target_shape, 2), flops=6.0,
        torch=lambda v: (
            f"F.affine_grid(theta, {(v.theta[0], 1, *v.target_shape)}, align_corners=True)"
        ),
        onnx=lambda v: (f"AffineGrid(theta, {[v.theta[0], 1, *v.target_shape]}, align_corners=1)"),
        mxnet=Call("nd.GridGenerator(flat, transform_type='affine', target_shape={target_shape})",
            setup="flat = nd.reshape(theta, shape=(0, 6))",
            compared="nd.transpose(y, axes=(0, 2, 3, 1))", differentiable=False)),
    op("BilinearSampler", "nn_basic",
        ("data", Input("grid", INSIDE, grad=False, shape=lambda v: (v.data[0], *v.data[2:], 2))),
        shapes=PICTURES, flops=12.0, needs={"len(data) == 4": "", "min(data[2:]) >= 1": ""},
        tolerance=16.0, aliases=("grid_sample",),
        torch="F.grid_sample(data, grid, align_corners=True)",
        onnx="GridSample(data, grid, align_corners=1)",
        mxnet=Call("nd.BilinearSampler(data, points)",
            setup="points = nd.transpose(grid, axes=(0, 3, 1, 2))")),
    op("SpatialTransformer", "nn_basic",
        ("data", Input("theta", uniform(-0.4, 0.4), grad=False, shape=lambda v: (v.data[0], 2, 3))),
        shapes=PICTURES, flops=18.0, needs={"len(data) == 4": "", "min(data) >= 1": ""},
        tolerance=64.0,
        torch=Call("F.grid_sample(data, F.affine_grid(theta, data.shape, align_corners=True), "
            "align_corners=True)", emulated=True),
        onnx=Call(lambda v: (
                f"g = AffineGrid(theta, {list(v.data)}, align_corners=1)\n"
                "y = GridSample(data, g, align_corners=1)"
            ), emulated=True),
        mxnet=Call(lambda v: (
                f"nd.SpatialTransformer(data, flat, target_shape={tuple(v.data[2:])}, "
                "transform_type='affine', sampler_type='bilinear')"
            ), setup="flat = nd.reshape(theta, shape=(0, 6))")),
    op("Correlation", "nn_basic", ("lhs", "rhs"), shapes=PATCHES, max_displacement=2, flops=None,
        mxnet="nd.Correlation(lhs, rhs, kernel_size=1, pad_size={max_displacement}, "
        "max_displacement={max_displacement}, stride1=1, stride2=1)"),
    op("im2col", "nn_basic", "data", shapes=PICTURES, needs={"data[1] >= 1": ""},
        kernel=(3, 3), pad=(1, 1),
        result=lambda v: patches(v.data, v), flops=0.0,
        torch="F.unfold(data, {kernel}, padding={pad})",
        jax=Call(lambda v: (
                f"lax.conv_general_dilated_patches(data, {v.kernel}, (1, 1), "
                f"{[(p, p) for p in v.pad]})"
            ), compared="y.reshape(y.shape[0], y.shape[1], -1)"),
        mxnet="nd.im2col(data, kernel={kernel}, pad={pad}, stride=(1, 1), dilate=(1, 1))"),
    op("col2im", "nn_basic",
        (Input("data", shape=lambda v: patches(v.image, v)),),
        shapes={"image": PICTURES}, needs={"len(image) == 4": "", "image[1] >= 1": "torch"},
        kernel=(3, 3),
        pad=(1, 1), result=lambda v: v.image, flops=9.0,
        tolerance=4.0,
        torch=lambda v: f"F.fold(data, {v.image[2:]}, {v.kernel}, padding={v.pad})",
        onnx=lambda v: (
            f"Col2Im(data, {list(v.image[2:])}, {list(v.kernel)}, "
            f"pads={[*v.pad, *v.pad]}, strides=[1, 1], dilations=[1, 1])"
        ),
        mxnet=lambda v: (
            f"nd.col2im(data, output_size={v.image[2:]}, kernel={v.kernel}, pad={v.pad}, "
            "stride=(1, 1), dilate=(1, 1))"
        )),
    op("UpSampling", "nn_basic", "data", shapes=PICTURES, scale=2,
        needs={"data[1] >= 1": "torch"}, result=enlarged, flops=0.0,
        torch="F.interpolate(data, scale_factor={scale}, mode='nearest')",
        jax=lambda v: f"jax.image.resize(data, {enlarged(v)}, 'nearest')",
        onnx=lambda v: (
            f"Resize(data, None, [1.0, 1.0, {float(v.scale)}, {float(v.scale)}], "
            "mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric')"
        ), mxnet="nd.UpSampling(data, scale={scale}, sample_type='nearest')"),
    op("BilinearResize2D", "nn_basic", "data", shapes=PICTURES, scale=2,
        needs={"data[1] >= 1": "torch"}, result=enlarged, flops=8.0,
        tolerance=16.0, aliases=("interpolate",),
        torch="F.interpolate(data, scale_factor={scale}, mode='bilinear')",
        jax=lambda v: f"jax.image.resize(data, {enlarged(v)}, 'linear')",
        onnx=lambda v: (
            f"Resize(data, None, [1.0, 1.0, {float(v.scale)}, {float(v.scale)}], "
            "mode='linear', coordinate_transformation_mode='half_pixel')"
        ),
        mxnet=lambda v: (
            f"nd.contrib.BilinearResize2D(data, height={enlarged(v)[2]}, "
            f"width={enlarged(v)[3]}, align_corners=False)"
        )),
)  # fmt: skip
