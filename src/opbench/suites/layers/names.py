"""The vocabulary of the layer suite: its layers, its modes, and the names people know them by.

A classic name is a layer, or `gsm_` and a layer: that layer wrapped for per-sample gradients, which
today is called mode `hooks`. These names and the layers of the published study are facts: a layer
that is added has a section and a place in `LAYERS`, but joins neither.
"""

from __future__ import annotations

from opbench.errors import UserError, unknown
from opbench.suites.layers.sections import sections

BASELINE = "baseline"
HOOKS = "hooks"
#: `baseline` is the layer as it is; the others are how Opacus computes per-sample gradients.
MODES = (BASELINE, HOOKS, "functorch", "ew", "ghost")

BATCH_SIZES = (16, 32, 64, 128, 256, 512)

WRAPPED = "gsm_"
#: Ends the name of the counterpart of a user's own layer.
NN = "_nn"


#: In the order of the classic usage text. A torch.nn layer with a DP version has no wrapped name:
#: the DP version was wrapped in its place.
CLASSIC = (
    *("linear", "gsm_linear", "conv", "gsm_conv", "layernorm", "gsm_layernorm"),
    *("instancenorm", "gsm_instancenorm", "groupnorm", "gsm_groupnorm"),
    *("embedding", "gsm_embedding", "mha", "dpmha", "gsm_dpmha", "rnn", "dprnn", "gsm_dprnn"),
    *("gru", "dpgru", "gsm_dpgru", "lstm", "dplstm", "gsm_dplstm"),
)
#: The layers of arXiv:2109.12298.
STUDY = tuple(name for name in CLASSIC if not name.startswith(WRAPPED))
#: Names that a wrapped layer had before it was called `gsm_…`.
RENAMED = {f"dp{name.removeprefix(WRAPPED)}": name for name in CLASSIC if name.startswith(WRAPPED)}

_KEYS = {layer: key for key, each in sections().items() for layer in each.LAYERS or (key,)}
#: Each layer with the key of its section in a config file: layers that take the same constructor
#: arguments share one. Those of the study come first.
SECTIONS = {layer: _KEYS[layer] for layer in dict.fromkeys((*STUDY, *_KEYS))}
LAYERS = tuple(SECTIONS)

#: The re-implementations of `opacus.layers`, and the torch.nn layer each of them stands in for.
COUNTERPART = {f"dp{layer}": layer for layer in LAYERS if f"dp{layer}" in LAYERS}

#: Every name of a layer: the classic ones, then layers that came later.
NAMES = tuple(dict.fromkeys((*CLASSIC, *LAYERS)))


def read_name(name: str) -> tuple[str, str]:
    """(layer, mode) behind a name: that of a layer, or a classic one."""
    if name not in NAMES:
        raise UserError(unknown("layer", name, NAMES))
    if name in LAYERS:
        return name, BASELINE
    return name.removeprefix(WRAPPED), HOOKS


def classic_name(layer: str, mode: str) -> str | None:
    """The classic name of a layer in a mode, where it has one."""
    name = layer if mode == BASELINE else WRAPPED + layer if mode == HOOKS else ""
    return name if name in CLASSIC else None


def counterpart(layer: str) -> str:
    """The torch.nn layer that a layer is measured against; itself for one of torch.nn."""
    if layer in LAYERS or layer.endswith(NN):
        return COUNTERPART.get(layer, layer)
    return layer + NN
