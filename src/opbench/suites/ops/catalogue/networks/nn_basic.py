"""The plain layers of networks: dense, dropout, embedding, sampling of images, sequences."""

from __future__ import annotations

from math import prod
from typing import Any

from opbench.define.program import Domain, integers, lines
from opbench.suites.ops.catalogue.networks import images
from opbench.suites.ops.catalogue.networks.custom import CUSTOM_JAX, CUSTOM_MXNET, CUSTOM_TORCH
from opbench.suites.ops.entry import (
    ALL,
    ANALYTIC,
    Call,
    Input,
    Operator,
    Shape,
    Values,
    weight,
)
from opbench.suites.ops.shapes import (
    op,
    sizes,
    unary,
)

FEATURES = sizes((16, 64), (512, 512), (4096, 1024), (10000, 10))
#: Time first, then the batch, as recurrent layers have it.
SEQUENCES = sizes((8, 4, 16), (128, 32, 256), (512, 64, 512), (4096, 1, 16))
STRETCH = sizes((4, 64, 64), (128, 512, 512), (256, 512, 512), (10000, 10, 1))


def lengths(v: Values) -> Domain:
    return integers(1, v.data[0] + 1)


LENGTH = Input("lengths", lengths, "int64", grad=False, shape=lambda v: v.data[1:2])


def sequence(name: str, **more: Any) -> Operator:
    return op(
        name, "nn_basic", ("data", LENGTH), SEQUENCES, flops=0.0, shrinks=("none",), **more
    )  # fmt: skip


def rows_of_units(v: Values) -> Shape:
    return (*v.data[:-1], v.units)


def dense_in_onnx(v: Values) -> str:
    """`Gemm` is of matrices; to join the leading sides costs nothing."""
    if len(v.data) == 2:
        return "Gemm(data, weight, bias, transB=1)"
    return lines(
        f"rows = Reshape(data, {[-1, v.data[-1]]})",
        "product = Gemm(rows, weight, bias, transB=1)",
        f"y = Reshape(product, {[*rows_of_units(v)]})",
    )


def dense_in_mxnet(v: Values) -> str:
    kept = "" if len(v.data) == 2 else ", flatten=False"
    return f"nd.FullyConnected(data, weight, bias, num_hidden={v.units}{kept})"


OPERATORS = (
    op("FullyConnected", "nn_basic", sides={"data": "m k", "units": "n"}, any_rank=True, inputs=
        ("data", weight("weight", shape=lambda v: (v.units, v.data[-1])),
            weight("bias", shape=lambda v: (v.units,))),
        shapes={"data": FEATURES, "units": sizes(32, 256, 1024, 10)},
        result=rows_of_units, flops=lambda v: 2.0 * prod(v.data) * v.units, tolerance=8.0,
        aliases=("linear", "Dense"), classic="Dense", dtypes=ANALYTIC,
        torch="F.linear(data, weight, bias)", onnx=dense_in_onnx, mxnet=dense_in_mxnet,
        numpy=Call("data @ weight.T + bias", note="a product, and a sum with the bias")),
    unary("flatten", "nn_basic", flops=0.0,
        needs={"len(data) >= 2": "torch", "data[0] >= 1": "numpy jax"},
        shapes=STRETCH, dtypes=ALL,
        result=lambda v: (v.data[0], prod(v.data[1:])), any_rank=True, classic="Flatten",
        torch="torch.flatten(data, 1)", onnx="Flatten(data, axis=1)", mxnet="nd.flatten(data)",
        numpy="data.reshape(data.shape[0], -1)"),
    # A function of the user's within a network: here one that adds the axis of the batch.
    unary("Lambda", "nn_basic", flops=0.0, shapes=STRETCH, result=lambda v: (1, *v.data),
        absent={"onnxruntime": "an ONNX graph calls no functions of its user's"},
        torch=Call("layer(data)", setup="layer = lambda x: torch.unsqueeze(x, 0)"),
        jax=Call("layer(data)", setup="layer = lambda x: jnp.expand_dims(x, 0)"),
        mxnet=Call("layer(data)",
            setup="layer = mx.gluon.nn.Lambda(lambda x: nd.expand_dims(x, axis=0))"),
        numpy=Call("layer(data)", setup="layer = lambda x: np.expand_dims(x, 0)")),
    unary("Dropout", "nn_basic", shapes=FEATURES, p=0.5,
        needs={"0 <= p <= 1": "", "p < 1": "onnxruntime"},
        parity="statistics", flops=3.0,
        torch="F.dropout(data, {p}, True)",
        jax=Call("jnp.where(jax.random.bernoulli(key, 1 - {p}, data.shape), "
            "data / (1 - {p}), 0.0)", emulated=True), onnx="Dropout(data, {p}, True)",
        mxnet="nd.Dropout(data, p={p}, mode='always')"),
    op("Embedding", "nn_basic",
        (Input("data", lambda v: integers(0, v.input_dim), "int64", grad=False),
            weight("weight", shape=lambda v: (v.input_dim, v.output_dim))),
        shapes=sizes((4, 8), (32, 128), (256, 512), (10000, 1)), input_dim=20000, output_dim=128,
        result=lambda v: (*v.data, v.output_dim), flops=0.0, tolerance=8.0, partly=("weight",),
        torch="F.embedding(data, weight)", onnx="Gather(weight, data, axis=0)",
        mxnet="nd.Embedding(data, weight, input_dim={input_dim}, output_dim={output_dim})",
        numpy="np.take(weight, data, axis=0)"),
    unary("Custom", "nn_basic", classic="CustomOpElementwiseAdd",
        printed="CustomOp_Elementwise_Add",
        absent={"onnxruntime": "a custom operator of ONNX Runtime is a compiled library"},
        torch=Call("AddOne.apply(data)", globals=CUSTOM_TORCH),
        jax=Call("add_one(data)", globals=CUSTOM_JAX),
        mxnet=Call("nd.Custom(data, op_type='opbench_add_one')", globals=CUSTOM_MXNET)),
    sequence("SequenceMask", needs={"len(data) == 3": "torch jax numpy"},
        torch=Call("torch.where(steps < lengths[None, :, None], data, 0.0)", emulated=True,
            setup="steps = torch.arange(data.shape[0], device=data.device)[:, None, None]"),
        mxnet=Call("nd.SequenceMask(data, counts, use_sequence_length=True)",
            setup="counts = lengths.astype({dtype})"),
        jax=Call("jnp.where(steps < lengths[None, :, None], data, 0.0)", emulated=True,
            setup="steps = jnp.arange(data.shape[0])[:, None, None]"),
        numpy=Call("np.where(steps < lengths[None, :, None], data, zero)", emulated=True,
            setup="steps = np.arange(data.shape[0])[:, None, None]\nzero = data.dtype.type(0)")),
    sequence("SequenceReverse",
        needs={"len(data) == 3": "torch jax", "len(data) >= 2": "onnxruntime"},
        torch=Call("order = torch.where(steps < lengths, lengths - 1 - steps, steps)[..., None]\n"
            "y = torch.take_along_dim(data, order, 0)", emulated=True,
            setup="steps = torch.arange(data.shape[0], device=data.device)[:, None]"),
        jax=Call("order = jnp.where(steps < lengths, lengths - 1 - steps, steps)[..., None]\n"
            "y = jnp.take_along_axis(data, order, 0)", emulated=True,
            setup="steps = jnp.arange(data.shape[0])[:, None]"),
        onnx="ReverseSequence(data, lengths, time_axis=0, batch_axis=1)",
        mxnet=Call("nd.SequenceReverse(data, counts, use_sequence_length=True)",
            setup="counts = lengths.astype({dtype})")),
    sequence("SequenceLast", result=lambda v: v.data[1:],
        torch=Call("data[lengths - 1, batch]", emulated=True,
            setup="batch = torch.arange(data.shape[1], device=data.device)"),
        mxnet=Call("nd.SequenceLast(data, counts, use_sequence_length=True)",
            setup="counts = lengths.astype({dtype})"),
        jax=Call("data[lengths - 1, batch]", emulated=True,
            setup="batch = jnp.arange(data.shape[1])"),
        numpy=Call("data[lengths - 1, batch]", emulated=True,
            setup="batch = np.arange(data.shape[1])")),
    *images.OPERATORS,
)  # fmt: skip
