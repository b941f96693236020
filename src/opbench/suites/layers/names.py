"""The vocabulary of the layer suite: its layers, its modes, and the 24 names people know them by.

A classic name is a layer, or `gsm_` and a layer: that layer wrapped for per-sample gradients, which
today is called mode `hooks`.
"""

from __future__ import annotations

from opbench.errors import UserError, unknown

#: Each layer with the key of its section in a config file: layers that take the same constructor
#: arguments share one.
SECTIONS = {
    "linear": "linear",
    "conv": "conv",
    "layernorm": "layernorm",
    "instancenorm": "instancenorm",
    "groupnorm": "groupnorm",
    "embedding": "embedding",
    "mha": "mha",
    "dpmha": "mha",
    "rnn": "rnn_base",
    "dprnn": "rnn_base",
    "gru": "rnn_base",
    "dpgru": "rnn_base",
    "lstm": "rnn_base",
    "dplstm": "rnn_base",
}
LAYERS = tuple(SECTIONS)

#: The re-implementations of `opacus.layers`, and the torch.nn layer each of them stands in for.
COUNTERPART = {"dpmha": "mha", "dprnn": "rnn", "dpgru": "gru", "dplstm": "lstm"}

BASELINE = "baseline"
HOOKS = "hooks"
#: `baseline` is the layer as it is; the others are how Opacus computes per-sample gradients.
MODES = (BASELINE, HOOKS, "functorch", "ew", "ghost")

BATCH_SIZES = (16, 32, 64, 128, 256, 512)

WRAPPED = "gsm_"
#: The suite under which training steps of users' models are stored.
MODELS = "models"
#: Ends the name of the counterpart of a user's own layer.
NN = "_nn"


def _classic() -> tuple[str, ...]:
    """In the order of the classic usage text: the wrapped form after the layer it wraps, and none
    for the torch.nn layers that have a DP version to be wrapped in their place."""
    replaced = COUNTERPART.values()
    return tuple(
        name
        for layer in LAYERS
        for name in ((layer,) if layer in replaced else (layer, WRAPPED + layer))
    )


CLASSIC = _classic()
#: Names that a wrapped layer had before it was called `gsm_…`.
RENAMED = {f"dp{name.removeprefix(WRAPPED)}": name for name in CLASSIC if name.startswith(WRAPPED)}


def read_name(name: str) -> tuple[str, str]:
    """(layer, mode) behind a classic name."""
    if name not in CLASSIC:
        raise UserError(unknown("layer", name, CLASSIC))
    if name.startswith(WRAPPED):
        return name[len(WRAPPED) :], HOOKS
    return name, BASELINE


def classic_name(layer: str, mode: str) -> str | None:
    """The classic name of a layer in a mode, where it has one."""
    name = layer if mode == BASELINE else WRAPPED + layer if mode == HOOKS else ""
    return name if name in CLASSIC else None


def counterpart(layer: str) -> str:
    """The torch.nn layer that a layer is measured against; itself for one of torch.nn."""
    if layer in LAYERS or layer.endswith(NN):
        return COUNTERPART.get(layer, layer)
    return layer + NN
