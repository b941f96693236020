"""The plain layers of networks: dense, dropout, embedding, sampling of images, sequences."""

from __future__ import annotations

from typing import Any

from opbench.define.program import Domain, integers
from opbench.suites.ops.catalogue import images
from opbench.suites.ops.catalogue.custom import CUSTOM_JAX, CUSTOM_MXNET, CUSTOM_TORCH
from opbench.suites.ops.entry import Call, Input, Operator, Values
from opbench.suites.ops.shapes import shaped, unary, without_gradient

FEATURES = {
    "small": (16, 64),
    "typical": (512, 512),
    "large": (4096, 1024),
    "skewed": (10000, 10),
}
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
            "onnxruntime": "Gather(weight, data, axis=0)",
            "mxnet": "nd.Embedding(data, weight, input_dim={input_dim}, output_dim={output_dim})",
            "numpy": "np.take(weight, data, axis=0)",
        },
        result=lambda v: (*v.data, v.output_dim),
        flops=0.0,
        tolerance=8.0,
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
            "mxnet": Call(
                "nd.SequenceLast(data, counts, use_sequence_length=True)",
                setup="counts = lengths.astype({dtype})",
            ),
            "numpy": "data[lengths - 1, np.arange(data.shape[1])]",
        },
        result=lambda v: v.data[1:],
    ),
    *images.OPERATORS,
)
