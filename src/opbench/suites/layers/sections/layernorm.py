"""A layer norm over the last `D` dimensions."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from opbench.define.document import RuleError
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

    def arguments(self) -> dict[str, Any]:
        return {"normalized_shape": self.input_shape[-self.D :], **super().arguments()}

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, *self.input_shape)
        return self.of_one("torch.nn.LayerNorm", shape, shape)


SECTION = LayerNorm
