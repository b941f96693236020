"""Small layers for the tests: the same source as the real ones, milliseconds instead of seconds."""

from __future__ import annotations

from typing import Any

from opbench.case import Case
from opbench.define.expand import expand
from opbench.suites.layers.config import checked
from opbench.suites.layers.definition import layer_definition

BATCH = 4

CONFIG: dict[str, dict[str, Any]] = {
    "linear": {"input_shape": [], "in_features": 5, "out_features": 7},
    "conv": {"input_shape": [6, 7], "in_channels": 4, "out_channels": 6, "kernel_size": 3},
    "layernorm": {"input_shape": [8], "D": 1},
    "instancenorm": {"input_shape": [6], "num_features": 4, "affine": True},
    "groupnorm": {"input_shape": [], "num_groups": 2, "num_channels": 8},
    "embedding": {"input_shape": [], "num_embeddings": 20, "embedding_dim": 6},
    "mha": {"source_seq_len": 5, "targ_seq_len": 3, "embed_dim": 8, "num_heads": 2},
    "rnn_base": {"seq_len": 5, "input_size": 3, "hidden_size": 6},
}


def case(
    layer: str, mode: str = "baseline", batch: int = BATCH, stage: str = "", **config: Any
) -> Case:
    """One case of a small layer; `config` changes keys of its section."""
    from opbench.suites.layers.names import SECTIONS

    key = SECTIONS[layer]
    section = checked({key: {**CONFIG[key], **config}}, "test").section(layer)
    definition = layer_definition(layer, section, modes=(mode,), batch_sizes=(batch,))
    (found,) = expand([definition], stages=(stage,) if stage else ())
    return found


def run(case: Case, seed: int = 0) -> dict[str, Any]:
    """The set-up and one step of a case, in this process; returns its variables."""
    names: dict[str, Any] = {"seed": seed, "__name__": "case"}
    exec(case.globals, names)
    exec(case.setup, names)
    exec(case.before, names)
    exec(case.stmt, names)
    return names
