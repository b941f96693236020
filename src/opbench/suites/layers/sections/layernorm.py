"""A layer norm over the last `D` dimensions."""

from __future__ import annotations

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.define.program import Tensor
from opbench.suites.layers.sections.rules import Flag, Positive, Shape, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class LayerNorm(Section):
    INPUT = ("input_shape", "D")
    AFFINE = "elementwise_affine"
    input_shape: Shape
    #: The layer normalises over the last D dimensions.
    D: Size
    eps: Positive = 1e-5
    elementwise_affine: Flag = True
    bias: Flag = True

    @model_validator(mode="after")
    def _within(self) -> LayerNorm:
        if len(self.input_shape) < self.D:
            raise RuleError("D", f"{self.D} is more than input_shape has dimensions")
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, *self.input_shape)
        normalized = self.input_shape[-self.D :]
        return Shaped(
            "torch.nn.LayerNorm",
            (Tensor("x", shape, self.dtype),),
            shape,
            {"normalized_shape": normalized, **self.arguments()},
            dtype=self.dtype,
        )


SECTION = LayerNorm
