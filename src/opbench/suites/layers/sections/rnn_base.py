"""The recurrent layers, of torch.nn and of Opacus: they share their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.define.program import Tensor
from opbench.suites.layers.sections.rules import Count, Flag, Share, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped

#: Arguments that only some of the layers of a shared section take, as torch.nn has it.
ONLY = {"nonlinearity": ("rnn", "dprnn"), "proj_size": ("lstm", "dplstm")}


class Recurrent(Section):
    LAYERS = ("rnn", "dprnn", "gru", "dpgru", "lstm", "dplstm")
    INPUT = ("seq_len",)
    input_size: Size
    hidden_size: Size
    num_layers: Size = 1
    #: Of RNN alone.
    nonlinearity: Literal["tanh", "relu"] = "tanh"
    bias: Flag = True
    batch_first: Flag = False
    dropout: Share = 0.0
    bidirectional: Flag = False
    #: Of LSTM alone.
    proj_size: Count = 0
    seq_len: Size

    @model_validator(mode="after")
    def _projection_shrinks(self) -> Recurrent:
        if self.proj_size >= self.hidden_size:
            raise RuleError(
                "proj_size", f"{self.proj_size} is not below hidden_size {self.hidden_size}"
            )
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        def shape(features: int) -> tuple[int, ...]:
            length = self.seq_len
            return (batch, length, features) if self.batch_first else (length, batch, features)

        lstm = layer.endswith("lstm")
        directions = 2 if self.bidirectional else 1
        hidden = (lstm and self.proj_size) or self.hidden_size
        states = directions * self.num_layers
        inputs = [
            Tensor("x", shape(self.input_size), self.dtype),
            Tensor("h_0", (states, batch, hidden), self.dtype),
        ]
        if lstm:
            inputs.append(Tensor("c_0", (states, batch, self.hidden_size), self.dtype))
        given = self.arguments()
        others = [key for key in given if layer not in ONLY.get(key, (layer,))]
        return Shaped(
            layer.upper() if layer.startswith("dp") else f"torch.nn.{layer.upper()}",
            tuple(inputs),
            shape(directions * hidden),
            {key: value for key, value in given.items() if key not in others},
            call="{x}, ({h_0}, {c_0})" if lstm else "{x}, {h_0}",
            pick="[0]",
            batch_dim=0 if self.batch_first else 1,
            batch_dims={"h_0": 1, "c_0": 1},
            dtype=self.dtype,
            refused=not_taken(layer, self, others),
        )


def not_taken(layer: str, section: Any, keys: Sequence[str]) -> str:
    """Why a layer cannot be as its section says, which other layers share. A key that says what is
    so without it asks for nothing."""
    fields = type(section).model_fields
    for key in keys:
        if getattr(section, key) != fields[key].default:
            takers = " and ".join(ONLY[key])
            return f"{layer} takes no {key}; {takers} do: name those, or leave the key out"
    return ""


SECTION = Recurrent
