"""Losses, averaged to a single number."""

from __future__ import annotations

from math import prod
from typing import Any

from opbench.define.program import NORMAL, SIMPLEX, Domain, integers
from opbench.suites.ops.entry import FULL, Call, Input, Operator
from opbench.suites.ops.shapes import (
    op,
    sizes,
)

SCORES = sizes((8, 10), (1024, 1000), (8192, 1000), (10000, 10))


def loss(name: str, label: Input, flops: float = 3.0, **more: Any) -> Operator:
    return op(
        name, "loss", ("pred", label), SCORES, result=lambda v: (), scalar=True,
        **{"flops": lambda v: flops * prod(v.pred), "tolerance": 8.0, **more},
    )  # fmt: skip


def target(domain: Domain = NORMAL) -> Input:
    return Input("label", domain, grad=False, shape=lambda v: tuple(v.pred))


CLASS = Input(
    "label",
    lambda v: integers(0, v.pred[1]),
    "int64",
    grad=False,
    shape=lambda v: v.pred[:1],
)


def gluon(block: str, factor: str = "") -> Call:
    """MXNet's losses give one number for each sample; L2Loss is half of what others mean."""
    return Call(
        f"{factor}nd.mean(block(pred, label))",
        setup=f"block = mx.gluon.loss.{block}()\nblock.initialize()",
        note="a block of Gluon, and the mean over its samples",
    )


def last_layer(name: str, label: Input, flops: float, near: str) -> Operator:
    """MXNet's last layers of a network hand on what they are given, or predictions made of it; the
    loss is their gradient alone. No other framework has such operators."""
    given = "classes" if label is CLASS else "label"
    return op(
        name, "loss", ("pred", label), SCORES, parity="", flops=flops,
        absent={"torch": f"torch has none: see {near}"},
        mxnet=Call(f"nd.{name}(pred, {given})",
            setup="classes = label.astype({dtype})" if label is CLASS else ""),
    )  # fmt: skip


#: Of small differences the square, of others the distance.
QUADRATIC = "d = np.abs(pred - label)\ny = np.mean(np.where(d < 1, 0.5 * d * d, d - 0.5))"

OPERATORS = (
    loss("L1Loss", target(),
        torch="F.l1_loss(pred, label)",
        onnx=Call("d = Sub(pred, label)\na = Abs(d)\ny = ReduceMean(a, keepdims=0)",
            emulated=True),
        mxnet=gluon("L1Loss"), numpy=Call("np.mean(np.abs(pred - label))", emulated=True)),
    loss("L2Loss", target(), aliases=("mse_loss",),
        torch="F.mse_loss(pred, label)",
        onnx=Call("d = Sub(pred, label)\nm = Mul(d, d)\ny = ReduceMean(m, keepdims=0)",
            emulated=True),
        mxnet=gluon("L2Loss", "2 * "),
        numpy=Call("np.mean(np.square(pred - label))", emulated=True)),
    loss("SigmoidBCE", target(integers(0, 2)), flops=40.0, classic="SigmoidBinaryCrossEntropyLoss",
        aliases=("SigmoidBCELoss",),
        torch="F.binary_cross_entropy_with_logits(pred, label)",
        mxnet=gluon("SigmoidBinaryCrossEntropyLoss"),
        numpy=Call("np.mean(np.maximum(pred, 0) - pred * label "
            "+ np.log1p(np.exp(-np.abs(pred))))", emulated=True)),
    loss("softmax_cross_entropy", CLASS, flops=20.0,
        needs={"pred[0] >= 1": "onnxruntime"},
        classic="SoftmaxCrossEntropyLoss",
        aliases=("cross_entropy",),
        torch="F.cross_entropy(pred, label)",
        jax=Call("-jnp.mean(jnp.take_along_axis(nn.log_softmax(pred), label[:, None], axis=1))",
            emulated=True),
        onnx="SoftmaxCrossEntropyLoss(pred, label, reduction='mean')",
        mxnet=Call("nd.softmax_cross_entropy(pred, classes)[0] / {pred}[0]",
            setup="classes = label.astype({dtype})", note="a sum, divided to become the mean")),
    loss("smooth_l1", target(), flops=6.0,
        torch="F.smooth_l1_loss(pred, label)",
        mxnet=Call("nd.mean(nd.smooth_l1(pred - label, scalar=1.0))", emulated=True),
        numpy=Call(QUADRATIC, emulated=True)),
    # Time, batch, classes; the blank is class 0.
    op("CTCLoss", "loss",
        ("data",
            Input("label", lambda v: integers(1, v.data[2]), "int64", grad=False,
                shape=lambda v: (v.data[1], v.label_length))),
        shapes=sizes((16, 2, 10), (100, 32, 64), (400, 64, 128)), label_length=8,
        needs={"min(data) >= 1": "torch"},
        result=lambda v: (), flops=None, dtypes=FULL, shrinks=("none",), scalar=True,
        tolerance=64.0, classic="CTCLoss",
        torch=Call(
            "F.ctc_loss(torch.log_softmax(data, -1), label, times, lengths, reduction='sum')",
            setup="times = torch.full(({data}[1],), {data}[0])\n"
            "lengths = torch.full(({data}[1],), {label_length})",
            note="with the softmax that MXNet's loss contains"),
        mxnet=Call("nd.sum(nd.CTCLoss(data, classes, blank_label='first'))",
            setup="classes = label.astype({dtype})", note="summed over the batch, as in torch")),
    loss("multi_margin_loss", CLASS, torch="F.multi_margin_loss(pred, label)"),
    last_layer("SVMOutput", CLASS, 1.0, "multi_margin_loss"),
    last_layer("SoftmaxOutput", CLASS, 20.0, "softmax_cross_entropy"),
    last_layer("LinearRegressionOutput", target(), 1.0, "L2Loss"),
    last_layer("LogisticRegressionOutput", target(), 15.0, "SigmoidBCE"),
    last_layer("MAERegressionOutput", target(), 1.0, "L1Loss"),
    # Likewise: its gradient is one, whatever comes after it. The second is the older of the two.
    op("MakeLoss", "loss", "pred", SCORES, parity="", mxnet="nd.MakeLoss(pred)"),
    op("make_loss", "loss", "pred", SCORES, parity="", classic="MakeLossOld",
        mxnet="nd.make_loss(pred)"),
    loss("Huber", target(), flops=6.0, classic="HuberLoss",
        torch="F.huber_loss(pred, label)", mxnet=gluon("HuberLoss"),
        numpy=Call(QUADRATIC, emulated=True)),
    loss("KLDiv", target(SIMPLEX), flops=18.0, classic="KLDivLoss",
        torch="F.kl_div(pred, label, reduction='batchmean')",
        numpy=Call("np.sum(label * (np.log(label) - pred)) / {pred}[0]", emulated=True)),
)  # fmt: skip
