"""Multi-head attention, of torch.nn and of Opacus."""

from __future__ import annotations

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.define.program import Tensor
from opbench.suites.layers.sections.rules import Flag, Share, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class Attention(Section):
    LAYERS = ("mha", "dpmha")
    INPUT = ("source_seq_len", "targ_seq_len")
    embed_dim: Size
    num_heads: Size
    dropout: Share = 0.0
    bias: Flag = True
    add_bias_kv: Flag = False
    add_zero_attn: Flag = False
    kdim: Size | None = None
    vdim: Size | None = None
    batch_first: Flag = False
    source_seq_len: Size
    targ_seq_len: Size

    @model_validator(mode="after")
    def _heads_divide(self) -> Attention:
        if self.embed_dim % self.num_heads:
            raise RuleError(
                "num_heads", f"{self.num_heads} does not divide embed_dim {self.embed_dim}"
            )
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        def shape(length: int, features: int) -> tuple[int, ...]:
            return (batch, length, features) if self.batch_first else (length, batch, features)

        embed, source = self.embed_dim, self.source_seq_len
        query = shape(self.targ_seq_len, embed)
        return Shaped(
            "DPMultiheadAttention" if layer == "dpmha" else "torch.nn.MultiheadAttention",
            (
                Tensor("x", query, self.dtype),
                Tensor("key", shape(source, self.kdim or embed), self.dtype),
                Tensor("value", shape(source, self.vdim or embed), self.dtype),
            ),
            query,
            self.arguments(),
            call="{x}, {key}, {value}",
            pick="[0]",
            batch_dim=0 if self.batch_first else 1,
            dtype=self.dtype,
        )


SECTION = Attention
