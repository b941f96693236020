"""A layer at one batch size: what is constructed, what goes in, what comes out.

The layouts are those of torch.nn. `batch_first` of a config reaches the layer as well as the
input, and the position of the batch is stated here once, for the loss and for the wrapper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import UserModule
from opbench.define.program import Tensor, integers
from opbench.suites.layers.config import sections

DP_CLASS = {
    "dpmha": "DPMultiheadAttention",
    "dprnn": "DPRNN",
    "dpgru": "DPGRU",
    "dplstm": "DPLSTM",
}
#: Arguments that only some of the layers of a shared section take, as torch.nn has it.
ONLY = {"nonlinearity": ("rnn", "dprnn"), "proj_size": ("lstm", "dplstm")}


@dataclass(frozen=True)
class Shaped:
    """One layer with its input: everything the source of a step is written from."""

    #: `torch.nn.Linear`, or the bare name of a class in `opacus.layers`.
    kind: str
    inputs: tuple[Tensor, ...]
    #: The shape of what the layer gives; random labels have the same. None where only the layer
    #: itself knows.
    output: tuple[int, ...] | None
    arguments: dict[str, Any] = field(default_factory=dict)
    #: The arguments of a call, `{0}` standing for the part of the batch: see `call`.
    call: str = "{x}"
    #: What of the layer's return value is its output.
    pick: str = ""
    #: Where the batch is in inputs and output: 0, or 1 with the sequence first.
    batch_dim: int = 0
    #: Whether the features come last (else second, as in a convolution).
    features_last: bool = True
    #: Inputs whose batch is elsewhere: the hidden state of an RNN is (layers, batch, features).
    batch_dims: dict[str, int] = field(default_factory=dict)
    dtype: str = "float32"
    #: A user's own layer: how it is imported, and the file it is in.
    imports: tuple[str, ...] = ()
    user: UserModule | None = None
    #: Why the layer cannot be as its section asks; empty for a usual one.
    refused: str = ""

    @property
    def constructor(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.kind}({given})"

    @property
    def size(self) -> str:
        return size_text(self.constructor, self.inputs[0].shape)

    @property
    def dp(self) -> bool:
        return self.kind in DP_CLASS.values()

    def called(self, part: str = "") -> str:
        """`(x, (h_0, c_0))`, or the same for a part of the batch: `:2`."""
        named = {}
        for tensor in self.inputs:
            before = self.batch_dims.get(tensor.name, self.batch_dim)
            named[tensor.name] = f"{tensor.name}[{':, ' * before}{part}]" if part else tensor.name
        return f"({self.call.format(**named)}){self.pick}"


def size_text(constructor: str, shape: Sequence[int]) -> str:
    """`torch.nn.Linear(in_features=512, out_features=512) on 16×512`."""
    return f"{constructor} on {'×'.join(map(str, shape))}"


def shaped(layer: str, section: Any, batch: int) -> Shaped:
    """The layer of a config section at one batch size."""
    for kind, build in BUILDERS.items():
        if isinstance(section, kind):
            return build(layer, section, batch)
    raise TypeError(f"no builder for {type(section).__name__}")


def linear(layer: str, section: sections.Linear, batch: int) -> Shaped:
    shape = (batch, *section.input_shape)
    return Shaped(
        "torch.nn.Linear",
        (Tensor("x", (*shape, section.in_features), section.dtype),),
        (*shape, section.out_features),
        section.arguments(),
        dtype=section.dtype,
    )


def conv(layer: str, section: sections.Conv, batch: int) -> Shaped:
    return Shaped(
        f"torch.nn.Conv{len(section.input_shape)}d",
        (Tensor("x", (batch, section.in_channels, *section.input_shape), section.dtype),),
        (batch, section.out_channels, *section.output_shape()),
        section.arguments(),
        features_last=False,
        dtype=section.dtype,
    )


def layernorm(layer: str, section: sections.LayerNorm, batch: int) -> Shaped:
    shape = (batch, *section.input_shape)
    normalized = section.input_shape[-section.D :]
    return Shaped(
        "torch.nn.LayerNorm",
        (Tensor("x", shape, section.dtype),),
        shape,
        {"normalized_shape": normalized, **section.arguments()},
        dtype=section.dtype,
    )


def instancenorm(layer: str, section: sections.InstanceNorm, batch: int) -> Shaped:
    shape = (batch, section.num_features, *section.input_shape)
    return Shaped(
        f"torch.nn.InstanceNorm{len(section.input_shape)}d",
        (Tensor("x", shape, section.dtype),),
        shape,
        section.arguments(),
        features_last=False,
        dtype=section.dtype,
    )


def groupnorm(layer: str, section: sections.GroupNorm, batch: int) -> Shaped:
    shape = (batch, section.num_channels, *section.input_shape)
    return Shaped(
        "torch.nn.GroupNorm",
        (Tensor("x", shape, section.dtype),),
        shape,
        section.arguments(),
        features_last=False,
        dtype=section.dtype,
    )


def embedding(layer: str, section: sections.Embedding, batch: int) -> Shaped:
    shape = (batch, *section.input_shape)
    return Shaped(
        "torch.nn.Embedding",
        (Tensor("x", shape, "int64", integers(0, section.num_embeddings)),),
        (*shape, section.embedding_dim),
        section.arguments(),
        dtype=section.dtype,
    )


def attention(layer: str, section: sections.Attention, batch: int) -> Shaped:
    def shape(length: int, features: int) -> tuple[int, ...]:
        return (batch, length, features) if section.batch_first else (length, batch, features)

    embed, source = section.embed_dim, section.source_seq_len
    query = shape(section.targ_seq_len, embed)
    return Shaped(
        DP_CLASS.get(layer, "torch.nn.MultiheadAttention"),
        (
            Tensor("x", query, section.dtype),
            Tensor("key", shape(source, section.kdim or embed), section.dtype),
            Tensor("value", shape(source, section.vdim or embed), section.dtype),
        ),
        query,
        section.arguments(),
        call="{x}, {key}, {value}",
        pick="[0]",
        batch_dim=0 if section.batch_first else 1,
        dtype=section.dtype,
    )


def recurrent(layer: str, section: sections.Recurrent, batch: int) -> Shaped:
    def shape(features: int) -> tuple[int, ...]:
        length = section.seq_len
        return (batch, length, features) if section.batch_first else (length, batch, features)

    lstm = layer.endswith("lstm")
    directions = 2 if section.bidirectional else 1
    hidden = (lstm and section.proj_size) or section.hidden_size
    states = directions * section.num_layers
    inputs = [
        Tensor("x", shape(section.input_size), section.dtype),
        Tensor("h_0", (states, batch, hidden), section.dtype),
    ]
    if lstm:
        inputs.append(Tensor("c_0", (states, batch, section.hidden_size), section.dtype))
    given = section.arguments()
    others = [key for key in given if layer not in ONLY.get(key, (layer,))]
    return Shaped(
        DP_CLASS.get(layer, f"torch.nn.{layer.upper()}"),
        tuple(inputs),
        shape(directions * hidden),
        {key: value for key, value in given.items() if key not in others},
        call="{x}, ({h_0}, {c_0})" if lstm else "{x}, {h_0}",
        pick="[0]",
        batch_dim=0 if section.batch_first else 1,
        batch_dims={"h_0": 1, "c_0": 1},
        dtype=section.dtype,
        refused=not_taken(layer, section, others),
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


BUILDERS: dict[type, Any] = {
    sections.Linear: linear,
    sections.Conv: conv,
    sections.LayerNorm: layernorm,
    sections.InstanceNorm: instancenorm,
    sections.GroupNorm: groupnorm,
    sections.Embedding: embedding,
    sections.Attention: attention,
    sections.Recurrent: recurrent,
}
