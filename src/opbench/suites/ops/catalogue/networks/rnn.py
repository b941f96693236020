"""Recurrent layers: one layer, one direction, time first.

Weights are in the order of torch. What another framework wants in another order or in one piece is
rearranged in the set-up, as loading a model does.
"""

from __future__ import annotations

from collections.abc import Callable

from opbench.define.program import ZEROS, uniform
from opbench.suites.ops.entry import Call, Input, Operator, Values, weight
from opbench.suites.ops.shapes import op, sizes

SEQUENCES = sizes((4, 2, 8), (25, 32, 256), (128, 64, 512), (512, 1, 16))
HIDDEN = sizes(8, 100, 512, 16)

#: As torch initialises them for a hidden size of a hundred.
WEIGHTS = uniform(-0.1, 0.1)
NAMES = ("w", "r", "bw", "br")


def shapes(gates: int, v: Values) -> dict[str, tuple[int, ...]]:
    rows = gates * v.hidden_size
    return {"w": (rows, v.data[2]), "r": (rows, v.hidden_size), "bw": (rows,), "br": (rows,)}


def parts_of_packed(gates: int) -> Callable[[Values], dict[str, str]]:
    """The gradient of each weight, out of that of all of them in one vector."""

    def gradients(v: Values) -> dict[str, str]:
        found, begin = {}, 0
        for name, shape in shapes(gates, v).items():
            end = begin + shape[0] * (shape[1] if len(shape) > 1 else 1)
            found[name] = f"packed.grad[{begin}:{end}].reshape({shape})"
            begin = end
        return found

    return gradients


#: Without these, ONNX Runtime ends the process.
ENDS = {
    "LSTM": {"data[1] >= 1": "onnxruntime"},
    "GRU": {"min(data) >= 1": "onnxruntime"},
}


def rnn(name: str, mode: str, gates: int, order: str, node: str, states: str) -> Operator:
    """`order`: the gates as ONNX wants them, by their places in torch."""
    packed = ", ".join(f"{each}.reshape(-1)" for each in NAMES)
    arranged = "\n".join(
        f"{each}_onnx = np.concatenate([np.split({each}, {gates})[i] for i in {order}])"
        for each in NAMES
    )
    begin = f"({states})" if ", " in states else states
    weights = tuple(weight(each, WEIGHTS, shape=lambda v, e=each: shapes(gates, v)[e])
                    for each in NAMES)  # fmt: skip
    zeros = tuple(Input(each, ZEROS, grad=False, shape=lambda v: (1, v.data[1], v.hidden_size))
                  for each in states.split(", "))  # fmt: skip
    return op(
        name, "rnn", ("data", *weights, *zeros), {"data": SEQUENCES, "hidden_size": HIDDEN},
        result=lambda v: (*v.data[:2], v.hidden_size),
        needs={"data[0] >= 1": "torch"} | ENDS.get(name, {}),
        shrinks=("data",), tolerance=64.0,
        absent={"jax": "JAX has no recurrent layers (Flax does)"},
        flops=lambda v: (
            2.0 * v.data[0] * v.data[1] * gates * v.hidden_size * (v.data[2] + v.hidden_size)
        ),
        torch=Call(
            f"torch.{mode}(data, {begin}, (w, r, bw, br), True, 1, 0.0, True, False, False)",
            output="y[0]"),
        # All outputs, of which the first has an axis for directions.
        onnx=Call(node, compared="y[0][:, 0]", setup=f"{arranged}\n"
            "w_model, r_model = w_onnx[None], r_onnx[None]\n"
            "b_model = np.concatenate([bw_onnx, br_onnx])[None]"),
        mxnet=Call(
            f"nd.RNN(data, packed, {states}, state_size={{hidden_size}}, num_layers=1, "
            f"mode='{mode}')",
            setup=f"packed = nd.concat({packed}, dim=0)\npacked.attach_grad()",
            gradients=parts_of_packed(gates)),
    )  # fmt: skip


GIVEN = "(data, w_model, r_model, b_model, hidden_size={hidden_size}"

OPERATORS = (
    rnn("RNN", "rnn_relu", 1, "(0,)", f"s, e = RNN{GIVEN}, activations=['Relu'])", "h"),
    # Input, forget, cell, output in torch; input, output, forget, cell in ONNX.
    rnn("LSTM", "lstm", 4, "(0, 3, 1, 2)", f"s, e, f = LSTM{GIVEN})", "h, c"),
    # Reset, update, new in torch; update, reset, new in ONNX.
    rnn("GRU", "gru", 3, "(1, 0, 2)", f"s, e = GRU{GIVEN}, linear_before_reset=1)", "h"),
)  # fmt: skip
