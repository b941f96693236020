"""The plain layers of networks: dense, dropout, embedding, sampling of images, sequences."""

from __future__ import annotations

from typing import Any

from opbench.define.operators.custom import CUSTOM_JAX, CUSTOM_MXNET, CUSTOM_TORCH
from opbench.define.operators.entry import Call, Input, Operator, Values
from opbench.define.operators.shapes import shaped, unary, without_gradient
from opbench.define.program import Domain, integers, uniform

FEATURES = {
    "small": (16, 64),
    "typical": (512, 512),
    "large": (4096, 1024),
    "skewed": (10000, 10),
}
PICTURES = {
    "small": (2, 4, 16, 16),
    "typical": (16, 16, 64, 64),
    "large": (32, 32, 128, 128),
    "skewed": (1, 4, 4, 4096),
}
PATCHES = {"small": (1, 4, 16, 16), "typical": (4, 16, 32, 32)}
#: Time first, then the batch, as recurrent layers have it.
SEQUENCES = {
    "small": (8, 4, 16),
    "typical": (128, 32, 256),
    "large": (512, 64, 512),
    "skewed": (4096, 1, 16),
}
STRETCH = {
    "small": (4, 64, 64),
    "typical": (128, 512, 512),
    "large": (256, 512, 512),
    "skewed": (10000, 10, 1),
}


def corners(v: Values) -> Domain:
    """Coordinates within the picture, from -1 to 1."""
    return uniform(-0.9, 0.9)


def lengths(v: Values) -> Domain:
    return integers(1, v.data[0] + 1)


LENGTH = Input("lengths", lengths, "int64", grad=False, shape=lambda v: v.data[1:2])


def sequence(name: str, spelling: dict[str, str | Call], **more: Any) -> Operator:
    return Operator(
        name,
        "nn_basic",
        (Input("data"), LENGTH),
        **shaped({"data": SEQUENCES}),
        spelling=spelling,
        flops=0.0,
        shrinks=("none",),
        **more,
    )


OPERATORS = (
    Operator(
        "FullyConnected",
        "nn_basic",
        (
            Input("data"),
            Input("weight", shape=lambda v: (v.units, v.data[1])),
            Input("bias", shape=lambda v: (v.units,)),
        ),
        **shaped(
            {"data": FEATURES, "units": {"small": 32, "typical": 256, "large": 1024, "skewed": 10}}
        ),
        spelling={
            "torch": "F.linear(data, weight, bias)",
            "jax": "data @ weight.T + bias",
            "onnxruntime": "Gemm(data, weight, bias, transB=1)",
            "mxnet": "nd.FullyConnected(data, weight, bias, num_hidden={units})",
            "numpy": "data @ weight.T + bias",
        },
        result=lambda v: (v.data[0], v.units),
        flops=lambda v: 2.0 * v.data[0] * v.data[1] * v.units,
        tolerance=8.0,
        aliases=("linear", "Dense"),
        classic="Dense",
    ),
    unary(
        "flatten",
        "nn_basic",
        {
            "torch": "torch.flatten(data, 1)",
            "jax": "data.reshape(data.shape[0], -1)",
            "onnxruntime": "Flatten(data, axis=1)",
            "mxnet": "nd.flatten(data)",
            "numpy": "data.reshape(data.shape[0], -1)",
        },
        flops=0.0,
        **shaped({"data": STRETCH}),
        result=lambda v: (v.data[0], v.data[1] * v.data[2]),
        classic="Flatten",
    ),
    # A function of the user's within a network: here one that adds the axis of the batch.
    unary(
        "Lambda",
        "nn_basic",
        {
            "torch": Call("layer(data)", setup="layer = lambda x: torch.unsqueeze(x, 0)"),
            "jax": Call("layer(data)", setup="layer = lambda x: jnp.expand_dims(x, 0)"),
            "mxnet": Call(
                "layer(data)",
                setup="layer = mx.gluon.nn.Lambda(lambda x: nd.expand_dims(x, axis=0))",
            ),
            "numpy": Call("layer(data)", setup="layer = lambda x: np.expand_dims(x, 0)"),
        },
        flops=0.0,
        **shaped({"data": STRETCH}),
        result=lambda v: (1, *v.data),
        absent={"onnxruntime": "an ONNX graph calls no functions of its user's"},
    ),
    unary(
        "Dropout",
        "nn_basic",
        {
            "torch": "F.dropout(data, {p}, True)",
            "jax": "jnp.where(jax.random.bernoulli(key, 1 - {p}, data.shape), "
            "data / (1 - {p}), 0.0)",
            "onnxruntime": "Dropout(data, {p}, True)",
            "mxnet": "nd.Dropout(data, p={p}, mode='always')",
        },
        **shaped({"data": FEATURES}, p=0.5),
        parity="statistics",
        flops=3.0,
    ),
    Operator(
        "Embedding",
        "nn_basic",
        (
            Input("data", lambda v: integers(0, v.input_dim), "int64", grad=False),
            Input("weight", shape=lambda v: (v.input_dim, v.output_dim)),
        ),
        **shaped(
            {
                "data": {
                    "small": (4, 8),
                    "typical": (32, 128),
                    "large": (256, 512),
                    "skewed": (10000, 1),
                }
            },
            input_dim=20000,
            output_dim=128,
        ),
        spelling={
            "torch": "F.embedding(data, weight)",
            "jax": "jnp.take(weight, data, axis=0)",
            "onnxruntime": "Gather(weight, data, axis=0)",
            "mxnet": "nd.Embedding(data, weight, input_dim={input_dim}, output_dim={output_dim})",
            "numpy": "np.take(weight, data, axis=0)",
        },
        result=lambda v: (*v.data, v.output_dim),
        flops=0.0,
        tolerance=8.0,
    ),
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
            Input("grid", corners, grad=False, shape=lambda v: (v.data[0], *v.data[2:], 2)),
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
            "jax": lambda v: (
                f"jax.image.resize(data, "
                f"{(*v.data[:2], v.data[2] * v.scale, v.data[3] * v.scale)}, 'nearest')"
            ),
            "onnxruntime": lambda v: (
                f"Resize(data, None, [1.0, 1.0, {float(v.scale)}, {float(v.scale)}], "
                "mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric')"
            ),
            "mxnet": "nd.UpSampling(data, scale={scale}, sample_type='nearest')",
        },
        result=lambda v: (*v.data[:2], v.data[2] * v.scale, v.data[3] * v.scale),
        flops=0.0,
    ),
    unary(
        "Custom",
        "nn_basic",
        {
            "torch": Call("AddOne.apply(data)", globals=CUSTOM_TORCH),
            "jax": Call("add_one(data)", globals=CUSTOM_JAX),
            "mxnet": Call("nd.Custom(data, op_type='opbench_add_one')", globals=CUSTOM_MXNET),
        },
        classic="CustomOpElementwiseAdd",
        printed="CustomOp_Elementwise_Add",
        absent={"onnxruntime": "a custom operator of ONNX Runtime is a compiled library"},
    ),
    sequence(
        "SequenceMask",
        {
            "torch": Call(
                "torch.where(steps < lengths[None, :, None], data, 0.0)",
                setup="steps = torch.arange(data.shape[0], device=data.device)[:, None, None]",
            ),
            "jax": "jnp.where(jnp.arange(data.shape[0])[:, None, None] < lengths[None, :, None], "
            "data, 0.0)",
            "mxnet": Call(
                "nd.SequenceMask(data, counts, use_sequence_length=True)",
                setup="counts = lengths.astype({dtype})",
            ),
            "numpy": "np.where(np.arange(data.shape[0])[:, None, None] < lengths[None, :, None], "
            "data, 0.0)",
        },
    ),
    without_gradient(
        sequence(
            "SequenceReverse",
            {
                "torch": Call(
                    "torch.take_along_dim(data, order, 0)",
                    setup="steps = torch.arange(data.shape[0], device=data.device)[:, None]\n"
                    "order = torch.where(steps < lengths, lengths - 1 - steps, steps)[..., None]",
                ),
                "jax": Call(
                    "jnp.take_along_axis(data, order, 0)",
                    setup="steps = jnp.arange(data.shape[0])[:, None]\n"
                    "order = jnp.where(steps < lengths, lengths - 1 - steps, steps)[..., None]",
                ),
                "onnxruntime": "ReverseSequence(data, lengths, time_axis=0, batch_axis=1)",
                "mxnet": Call(
                    "nd.SequenceReverse(data, counts, use_sequence_length=True)",
                    setup="counts = lengths.astype({dtype})",
                ),
            },
        )
    ),
    sequence(
        "SequenceLast",
        {
            "torch": Call(
                "data[lengths - 1, batch]",
                setup="batch = torch.arange(data.shape[1], device=data.device)",
            ),
            "jax": "data[lengths - 1, jnp.arange(data.shape[1])]",
            "mxnet": Call(
                "nd.SequenceLast(data, counts, use_sequence_length=True)",
                setup="counts = lengths.astype({dtype})",
            ),
            "numpy": "data[lengths - 1, np.arange(data.shape[1])]",
        },
        result=lambda v: v.data[1:],
    ),
)
