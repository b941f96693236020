"""Recurrent layers: one layer, one direction, time first."""

from __future__ import annotations

from opbench.define.program import ZEROS, uniform
from opbench.suites.ops.entry import Call, Input, Operator, Values
from opbench.suites.ops.shapes import op, sizes

SEQUENCES = sizes((4, 2, 8), (25, 32, 256), (128, 64, 512), (512, 1, 16))
HIDDEN = sizes(8, 100, 512, 16)

#: As torch initialises them for a hidden size of a hundred.
WEIGHTS = uniform(-0.1, 0.1)
NO_JAX = {"jax": "JAX has no recurrent layers (Flax does)"}


def rnn(
    name: str, gates: int, torch: str, mode: str, onnx: str, cell: bool, tolerance: float
) -> Operator:
    def flops(v: Values) -> float:
        time, batch, features = v.data
        return 2.0 * time * batch * gates * v.hidden_size * (features + v.hidden_size)

    state = tuple(
        Input(each, ZEROS, grad=False, shape=lambda v: (1, v.data[1], v.hidden_size))
        for each in (("h", "c") if cell else ("h",))
    )
    weights = (
        Input("w", WEIGHTS, shape=lambda v: (gates * v.hidden_size, v.data[2])),
        Input("r", WEIGHTS, shape=lambda v: (gates * v.hidden_size, v.hidden_size)),
        Input("bw", WEIGHTS, shape=lambda v: (gates * v.hidden_size,)),
        Input("br", WEIGHTS, shape=lambda v: (gates * v.hidden_size,)),
    )
    begin = "(h, c)" if cell else "h"
    given = "h, c" if cell else "h"
    packed = ", ".join(f"nd.reshape({each}, shape=(-1,))" for each in ("w", "r", "bw", "br"))
    return op(
        name,
        "rnn",
        (Input("data"), *weights, *state),
        {"data": SEQUENCES, "hidden_size": HIDDEN},
        torch=Call(
            f"torch.{torch}(data, {begin}, (w, r, bw, br), True, 1, 0.0, True, False, False)",
            output="y[0]",
        ),
        onnx=onnx,
        mxnet=f"nd.RNN(data, nd.concat({packed}, dim=0), {given}, "
        f"state_size={{hidden_size}}, num_layers=1, mode='{mode}')",
        result=lambda v: (*v.data[:2], v.hidden_size),
        flops=flops,
        shrinks=("data",),
        tolerance=tolerance,
        absent=NO_JAX,
    )


def onnx_gates(parts: int, order: tuple[int, ...], node: str) -> str:
    """ONNX keeps the gates in another order: they are put right within the graph."""
    lines = []
    for name in ("w", "r", "bw", "br"):
        pieces = [f"{name}{i}" for i in range(parts)]
        if parts > 1:
            lines.append(f"{', '.join(pieces)} = Split({name}, axis=0, num_outputs={parts})")
            ordered = ", ".join(pieces[i] for i in order)
            lines.append(f"{name}o = Concat({ordered}, axis=0)")
        else:
            lines.append(f"{name}o = Identity({name})")
    lines += [
        "wu = Unsqueeze(wo, [0])",
        "ru = Unsqueeze(ro, [0])",
        "b = Concat(bwo, bro, axis=0)",
        "bu = Unsqueeze(b, [0])",
        node,
        "y = Squeeze(s, [1])",
    ]
    return "\n".join(lines)


OPERATORS = (
    rnn(
        "RNN",
        1,
        "rnn_relu",
        "rnn_relu",
        onnx_gates(
            1, (0,), "s, e = RNN(data, wu, ru, bu, hidden_size={hidden_size}, activations=['Relu'])"
        ),
        cell=False,
        tolerance=64.0,
    ),
    # Input, forget, cell, output in torch; input, output, forget, cell in ONNX.
    rnn(
        "LSTM",
        4,
        "lstm",
        "lstm",
        onnx_gates(4, (0, 3, 1, 2), "s, e, f = LSTM(data, wu, ru, bu, hidden_size={hidden_size})"),
        cell=True,
        tolerance=64.0,
    ),
    # Reset, update, new in torch; update, reset, new in ONNX.
    rnn(
        "GRU",
        3,
        "gru",
        "gru",
        onnx_gates(
            3,
            (1, 0, 2),
            "s, e = GRU(data, wu, ru, bu, hidden_size={hidden_size}, linear_before_reset=1)",
        ),
        cell=False,
        tolerance=64.0,
    ),
)
