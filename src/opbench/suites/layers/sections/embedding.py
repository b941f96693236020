"""An embedding: the input is whole numbers."""

from __future__ import annotations

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.define.program import Tensor, integers
from opbench.suites.layers.sections.rules import Flag, Positive, Shape, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class Embedding(Section):
    num_embeddings: Size
    embedding_dim: Size
    padding_idx: int | None = None
    max_norm: Positive | None = None
    norm_type: Positive = 2.0
    scale_grad_by_freq: Flag = False
    sparse: Flag = False
    input_shape: Shape

    @model_validator(mode="after")
    def _padding_within(self) -> Embedding:
        if self.padding_idx is not None and not (
            -self.num_embeddings <= self.padding_idx < self.num_embeddings
        ):
            raise RuleError("padding_idx", f"{self.padding_idx} is outside num_embeddings")
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, *self.input_shape)
        return Shaped(
            "torch.nn.Embedding",
            (Tensor("x", shape, "int64", integers(0, self.num_embeddings)),),
            (*shape, self.embedding_dim),
            self.arguments(),
            dtype=self.dtype,
        )


SECTION = Embedding
