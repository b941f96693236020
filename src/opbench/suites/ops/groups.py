"""Groups of operators besides the categories: those of the classic suite, by its names."""

from __future__ import annotations

from opbench.suites.ops.entry import Operator

#: In the order in which the classic suite ran and printed them.
GROUPS: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        "add", "mul", "sub", "div", "mod", "power", "negative",
        "iadd", "isub", "imul", "idiv", "imod",
    ),
    "comparison": ("lesser", "lesser_equal", "greater", "greater_equal", "equal", "not_equal"),
    "logical_comparison": ("logical_and", "logical_or", "logical_xor", "logical_not"),
    "tensor_creation": ("zeros", "ones", "zeros_like", "ones_like", "full", "arange"),
    "exponential_and_log": ("exp", "log"),
    "powers": ("sqrt", "square"),
    "sort_and_search": ("sort", "argsort", "topk", "argmax", "argmin"),
    "gluon_nn_basic": ("FullyConnected", "flatten", "Lambda"),
    "gluon_nn_activation": (
        "leaky", "prelu", "sigmoid", "softmax", "log_softmax", "tanh", "elu", "selu", "swish",
    ),
    "gluon_nn_convolution": ("Conv1D", "Conv2D", "Conv1DTranspose", "Conv2DTranspose"),
    "gluon_normalization": ("BatchNorm", "Dropout"),
    "gluon_nn_pooling": (
        "MaxPool1D", "MaxPool2D", "AvgPool1D", "AvgPool2D",
        "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalAvgPool1D", "GlobalAvgPool2D",
    ),
    "gluon_nn_loss": ("L1Loss", "L2Loss", "SigmoidBCE", "softmax_cross_entropy"),
    "gluon_recurrent": ("RNN", "LSTM", "GRU"),
    "custom": ("Custom",),
}  # fmt: skip


def groups_of(operator: Operator) -> tuple[str, ...]:
    return tuple(
        name
        for name, members in GROUPS.items()
        if operator.name in members and name != operator.category
    )
