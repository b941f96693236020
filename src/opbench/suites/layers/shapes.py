"""A layer at one batch size: what is constructed, what goes in, what comes out.

The layouts are those of torch.nn. `batch_first` of a config reaches the layer as well as the
input, and `batch_dim` states the position of the batch once, for the loss and for the wrapper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import UserModule
from opbench.define.program import Tensor


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
    #: The arguments of a call, each `{name}` standing for that input: see `called`.
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
        return "." not in self.kind and not self.imports

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
