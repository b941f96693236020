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
    )


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
    loss("softmax_cross_entropy", CLASS, flops=20.0, classic="SoftmaxCrossEntropyLoss",
        aliases=("cross_entropy",),
        torch="F.cross_entropy(pred, label)",
        jax=Call("-jnp.mean(jnp.take_along_axis(nn.log_softmax(pred), label[:, None], axis=1))",
            emulated=True),
        onnx="SoftmaxCrossEntropyLoss(pred, label, reduction='mean')",
        mxnet=Call("nd.softmax_cross_entropy(pred, classes)[0] / {pred}[0]",
            setup="classes = label.astype({dtype})")),
    loss("smooth_l1", target(), flops=6.0,
        torch="F.smooth_l1_loss(pred, label)",
        mxnet="nd.mean(nd.smooth_l1(pred - label, scalar=1.0))",
        numpy=Call(QUADRATIC, emulated=True)),
    # Time, batch, classes; the blank is class 0.
    op("CTCLoss", "loss",
        ("data",
            Input("label", lambda v: integers(1, v.data[2]), "int64", grad=False,
                shape=lambda v: (v.data[1], v.label_length))),
        shapes=sizes((16, 2, 10), (100, 32, 64), (400, 64, 128)), label_length=8,
        result=lambda v: (), flops=None, dtypes=FULL, shrinks=("none",), scalar=True,
        tolerance=64.0, classic="CTCLoss",
        torch=Call(
            "F.ctc_loss(torch.log_softmax(data, -1), label, times, lengths, reduction='sum')",
            setup="times = torch.full(({data}[1],), {data}[0])\n"
            "lengths = torch.full(({data}[1],), {label_length})"),
        mxnet=Call("nd.sum(nd.CTCLoss(data, classes, blank_label='first'))",
            setup="classes = label.astype({dtype})")),
    loss("multi_margin_loss", CLASS, torch="F.multi_margin_loss(pred, label)"),
    # It passes its input on and keeps the loss for the gradient: no other framework's operator.
    loss("SVMOutput", CLASS, parity="", absent={"torch": "torch has none: see multi_margin_loss"},
        mxnet=Call("nd.mean(nd.SVMOutput(pred, classes))",
            setup="classes = label.astype({dtype})")),
    # Likewise: the last layers of a network, whose losses are their gradients alone.
    loss("SoftmaxOutput", CLASS, parity="", flops=20.0,
        absent={"torch": "torch has none: see softmax_cross_entropy"},
        mxnet=Call("nd.mean(nd.SoftmaxOutput(pred, classes))",
            setup="classes = label.astype({dtype})")),
    *(
        loss(f"{name}RegressionOutput", target(), parity="", flops=flops,
            absent={"torch": f"torch has none: see {near}"},
            mxnet=f"nd.mean(nd.{name}RegressionOutput(pred, label))")
        for name, flops, near in (("Linear", 1.0, "L2Loss"), ("Logistic", 15.0, "SigmoidBCE"),
            ("MAE", 1.0, "L1Loss"))
    ),
    # Likewise: its gradient is one, whatever comes after it. The second is the older of the two.
    loss("MakeLoss", target(), parity="", flops=1.0,
        mxnet="nd.mean(nd.MakeLoss(nd.square(pred - label)))"),
    loss("make_loss", target(), parity="", flops=1.0, classic="MakeLossOld",
        mxnet="nd.mean(nd.make_loss(nd.square(pred - label)))"),
    loss("Huber", target(), flops=6.0, classic="HuberLoss",
        torch="F.huber_loss(pred, label)", mxnet=gluon("HuberLoss"),
        numpy=Call(QUADRATIC, emulated=True)),
    loss("KLDiv", target(SIMPLEX), flops=18.0, classic="KLDivLoss",
        torch="F.kl_div(pred, label, reduction='batchmean')",
        numpy=Call("np.sum(label * (np.log(label) - pred)) / {pred}[0]", emulated=True)),
)  # fmt: skip
