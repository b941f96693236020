"""Layers of Gluon as its users call them: a block with parameters of its own, hybridized or not.

MXNet alone has them; what a block computes is in the entries of the operators behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opbench.define.program import Domain, integers, uniform
from opbench.suites.ops.entry import FULL, Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import IMAGES, PLANE, SIGNALS, op, sizes

#: Shapes of what a block is given, and its values.
KINDS: dict[str, tuple[dict[str, Shape], Domain | Callable[[Values], Domain]]] = {
    "plane": (PLANE, uniform(-1.0, 1.0)),
    "rows": (sizes((16, 64), (512, 512), (4096, 1024), (10000, 10)), uniform(-1.0, 1.0)),
    "signals": (SIGNALS, uniform(-1.0, 1.0)),
    "images": (IMAGES, uniform(-1.0, 1.0)),
    "volumes": (sizes((1, 3, 8, 8, 8), (4, 3, 16, 64, 64)), uniform(-1.0, 1.0)),
    "maps": (sizes((2, 8, 8, 8), (16, 32, 64, 64), (32, 64, 128, 128)), uniform(-1.0, 1.0)),
    "tokens": (sizes((4, 8), (32, 128), (256, 512)), lambda v: integers(0, v.input_dim)),
    "steps": (sizes((4, 2, 8), (25, 32, 256), (128, 64, 512)), uniform(-1.0, 1.0)),
    "scores": (sizes((8, 10), (1024, 1000), (8192, 1000)), uniform(0.1, 0.9)),
}
#: A block, what it is given, its options; `=` in front of a value makes it one of the entry.
TABLE = """
nn.Dense            rows     units=256, activation=None
nn.Activation       plane    activation='relu'
nn.LeakyReLU        plane    alpha=0.25
nn.PReLU            plane
nn.ELU              plane    alpha=1.0
nn.SELU             plane
nn.GELU             plane
nn.Swish            plane    beta=1.0
nn.Flatten          maps
nn.Dropout          rows     rate=0.5
nn.Embedding        tokens   input_dim=20000, output_dim=128
nn.BatchNorm        maps
nn.LayerNorm        rows
nn.InstanceNorm     maps
nn.GroupNorm        maps     num_groups=4
nn.Conv1D           signals  channels=64, kernel_size=3, padding=1, activation=None
nn.Conv2D           images   channels=64, kernel_size=3, strides=2, padding=1, activation=None
nn.Conv3D           volumes  channels=16, kernel_size=3, padding=1, activation=None
nn.Conv1DTranspose  signals  channels=32, kernel_size=2, strides=2, activation=None
nn.Conv2DTranspose  maps     channels=16, kernel_size=2, strides=2, activation=None
nn.MaxPool1D        signals  pool_size=2, strides=2
nn.MaxPool2D        images   pool_size=2, strides=2
nn.AvgPool1D        signals  pool_size=2, strides=2
nn.AvgPool2D        images   pool_size=2, strides=2
nn.GlobalMaxPool1D  signals
nn.GlobalMaxPool2D  images
nn.GlobalAvgPool1D  signals
nn.GlobalAvgPool2D  images
rnn.RNN             steps    hidden_size=100, activation='relu'
rnn.LSTM            steps    hidden_size=100
rnn.GRU             steps    hidden_size=100
loss.L1Loss         scores
loss.L2Loss         scores
loss.HuberLoss      scores
loss.SigmoidBinaryCrossEntropyLoss  scores
loss.SoftmaxCrossEntropyLoss        scores
loss.KLDivLoss      scores
"""
ABSENT = "Gluon is MXNet's: see the operator of the same name without gluon_"


def block(line: str) -> Operator:
    path, kind, *rest = line.split(maxsplit=2)
    room, name = path.split(".")
    shapes, domain = KINDS[kind]
    given = dict(each.split("=") for each in rest[0].split(", ")) if rest else {}
    options: dict[str, Any] = {key: literal(value) for key, value in given.items()}
    tensors = [Input("data", domain, "float32" if kind == "tokens" else "", grad=kind != "tokens")]
    call, before = "block(data)", ""
    if room == "loss":
        whole = name == "SoftmaxCrossEntropyLoss"
        target = (lambda v: integers(0, v.data[1])) if whole else uniform(0.1, 0.9)
        label = (lambda v: v.data[:1]) if whole else (lambda v: v.data)
        tensors.append(Input("label", target, grad=False, shape=label))
        call = "block(data, label)"
    # Outside of `record` a block predicts: no dropout, and the statistics of the past.
    if name in ("Dropout", "BatchNorm"):
        before = "with mx.autograd.train_mode():\n    y = "

    def setup(v: Values) -> str:
        words = ", ".join(f"{key}={getattr(v, key)!r}" for key in options)
        text = [f"block = mx.gluon.{path}({words})", "block.initialize(ctx=data.context)"]
        text += ["block.cast(data.dtype)"] if kind != "tokens" else []
        text += ["block.hybridize(static_alloc=True)"] if v.hybridize else []
        return "\n".join([*text, call])

    return op(
        f"gluon_{name}", "gluon", tuple(tensors), shapes, hybridize=False, **options,
        classic=f"Gluon{name}", printed=name, parity="", flops=None,
        dtypes=FULL if kind != "tokens" else ("float32",),
        absent=dict.fromkeys(("torch", "jax", "onnxruntime", "numpy"), ABSENT),
        mxnet=Call(f"{before}{call}", setup=setup, differentiable=kind != "tokens"),
    )  # fmt: skip


def literal(text: str) -> object:
    """A number, a text in quotes, or None."""
    if text == "None":
        return None
    if text.startswith("'"):
        return text.strip("'")
    return float(text) if "." in text else int(text)


OPERATORS = tuple(block(line) for line in TABLE.strip().splitlines())
