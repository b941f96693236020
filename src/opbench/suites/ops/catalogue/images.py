"""Sampling and patches of images: part of the category `nn_basic`."""

from __future__ import annotations

from opbench.define.program import uniform
from opbench.suites.ops.entry import Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import shaped

PICTURES = {
    "small": (2, 4, 16, 16),
    "typical": (16, 16, 64, 64),
    "large": (32, 32, 128, 128),
    "skewed": (1, 4, 4, 4096),
}
PATCHES = {"small": (1, 4, 16, 16), "typical": (4, 16, 32, 32)}
#: Coordinates within a picture, whose corners are at -1 and 1.
INSIDE = uniform(-0.9, 0.9)


def enlarged(v: Values) -> Shape:
    return (*v.data[:2], v.data[2] * v.scale, v.data[3] * v.scale)


OPERATORS = (
    Operator(
        "GridGenerator",
        "nn_basic",
        (Input("theta", uniform(-0.5, 0.5)),),
        **shaped(
            {
                "theta": {"small": (2, 2, 3), "typical": (32, 2, 3), "large": (64, 2, 3)},
                "target_shape": {"small": (16, 16), "typical": (128, 128), "large": (512, 512)},
            }
        ),
        spelling={
            "torch": lambda v: (
                f"F.affine_grid(theta, {(v.theta[0], 1, *v.target_shape)}, align_corners=True)"
            ),
            "onnxruntime": lambda v: (
                f"AffineGrid(theta, {[v.theta[0], 1, *v.target_shape]}, align_corners=1)"
            ),
            "mxnet": Call(
                "nd.GridGenerator(nd.reshape(theta, shape=(0, 6)), transform_type='affine', "
                "target_shape={target_shape})",
                compared="nd.transpose(y, axes=(0, 2, 3, 1))",
                # Its gradient has another layout too, and no way to say so.
                differentiable=False,
            ),
        },
        result=lambda v: (v.theta[0], *v.target_shape, 2),
        flops=6.0,
    ),
    Operator(
        "BilinearSampler",
        "nn_basic",
        (
            Input("data"),
            Input("grid", INSIDE, grad=False, shape=lambda v: (v.data[0], *v.data[2:], 2)),
        ),
        **shaped({"data": PICTURES}),
        spelling={
            "torch": "F.grid_sample(data, grid, align_corners=True)",
            "onnxruntime": "GridSample(data, grid, align_corners=1)",
            "mxnet": Call(
                "nd.BilinearSampler(data, points)",
                setup="points = nd.transpose(grid, axes=(0, 3, 1, 2))",
            ),
        },
        flops=12.0,
        tolerance=16.0,
        aliases=("grid_sample",),
    ),
    Operator(
        "SpatialTransformer",
        "nn_basic",
        (
            Input("data"),
            Input("theta", uniform(-0.4, 0.4), grad=False, shape=lambda v: (v.data[0], 2, 3)),
        ),
        **shaped({"data": PICTURES}),
        spelling={
            "torch": "F.grid_sample(data, F.affine_grid(theta, data.shape, align_corners=True), "
            "align_corners=True)",
            "onnxruntime": lambda v: (
                f"g = AffineGrid(theta, {list(v.data)}, align_corners=1)\n"
                "y = GridSample(data, g, align_corners=1)"
            ),
            "mxnet": Call(
                lambda v: (
                    f"nd.SpatialTransformer(data, flat, target_shape={tuple(v.data[2:])}, "
                    "transform_type='affine', sampler_type='bilinear')"
                ),
                setup="flat = nd.reshape(theta, shape=(0, 6))",
            ),
        },
        flops=18.0,
        tolerance=64.0,
    ),
    Operator(
        "Correlation",
        "nn_basic",
        (Input("lhs"), Input("rhs")),
        **shaped(
            dict.fromkeys(("lhs", "rhs"), PATCHES),
            max_displacement=2,
        ),
        spelling={
            "mxnet": "nd.Correlation(lhs, rhs, kernel_size=1, pad_size={max_displacement}, "
            "max_displacement={max_displacement}, stride1=1, stride2=1)",
        },
        flops=None,
    ),
    Operator(
        "im2col",
        "nn_basic",
        (Input("data"),),
        **shaped({"data": PICTURES}, kernel=(3, 3), pad=(1, 1)),
        spelling={
            "torch": "F.unfold(data, {kernel}, padding={pad})",
            "jax": Call(
                lambda v: (
                    f"lax.conv_general_dilated_patches(data, {v.kernel}, (1, 1), "
                    f"{[(p, p) for p in v.pad]})"
                ),
                compared="y.reshape(y.shape[0], y.shape[1], -1)",
            ),
            "mxnet": "nd.im2col(data, kernel={kernel}, pad={pad}, stride=(1, 1), dilate=(1, 1))",
        },
        result=lambda v: (v.data[0], 9 * v.data[1], v.data[2] * v.data[3]),
        flops=0.0,
    ),
    Operator(
        "col2im",
        "nn_basic",
        (Input("data", shape=lambda v: (v.image[0], 9 * v.image[1], v.image[2] * v.image[3])),),
        **shaped({"image": PICTURES}, kernel=(3, 3), pad=(1, 1)),
        spelling={
            "torch": lambda v: f"F.fold(data, {v.image[2:]}, {v.kernel}, padding={v.pad})",
            "onnxruntime": lambda v: (
                f"Col2Im(data, {list(v.image[2:])}, {list(v.kernel)}, "
                f"pads={[*v.pad, *v.pad]}, strides=[1, 1], dilations=[1, 1])"
            ),
            "mxnet": lambda v: (
                f"nd.col2im(data, output_size={v.image[2:]}, kernel={v.kernel}, pad={v.pad}, "
                "stride=(1, 1), dilate=(1, 1))"
            ),
        },
        result=lambda v: v.image,
        flops=9.0,
        tolerance=4.0,
    ),
    Operator(
        "UpSampling",
        "nn_basic",
        (Input("data"),),
        **shaped({"data": PICTURES}, scale=2),
        spelling={
            "torch": "F.interpolate(data, scale_factor={scale}, mode='nearest')",
            "jax": lambda v: f"jax.image.resize(data, {enlarged(v)}, 'nearest')",
            "onnxruntime": lambda v: (
                f"Resize(data, None, [1.0, 1.0, {float(v.scale)}, {float(v.scale)}], "
                "mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric')"
            ),
            "mxnet": "nd.UpSampling(data, scale={scale}, sample_type='nearest')",
        },
        result=enlarged,
        flops=0.0,
    ),
    Operator(
        "BilinearResize2D",
        "nn_basic",
        (Input("data"),),
        **shaped({"data": PICTURES}, scale=2),
        spelling={
            "torch": "F.interpolate(data, scale_factor={scale}, mode='bilinear')",
            "jax": lambda v: f"jax.image.resize(data, {enlarged(v)}, 'linear')",
            "onnxruntime": lambda v: (
                f"Resize(data, None, [1.0, 1.0, {float(v.scale)}, {float(v.scale)}], "
                "mode='linear', coordinate_transformation_mode='half_pixel')"
            ),
            "mxnet": lambda v: (
                f"nd.contrib.BilinearResize2D(data, height={enlarged(v)[2]}, "
                f"width={enlarged(v)[3]}, align_corners=False)"
            ),
        },
        result=enlarged,
        flops=8.0,
        tolerance=16.0,
        aliases=("interpolate",),
    ),
)
