"""A group norm."""

from __future__ import annotations

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.suites.layers.sections.rules import Flag, Positive, Shape, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class GroupNorm(Section):
    AFFINE = "affine"
    num_groups: Size
    num_channels: Size
    eps: Positive = 1e-5
    affine: Flag = True
    bias: Flag = True
    input_shape: Shape

    @model_validator(mode="after")
    def _divides(self) -> GroupNorm:
        if self.num_channels % self.num_groups:
            raise RuleError("num_groups", f"{self.num_groups} does not divide {self.num_channels}")
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, self.num_channels, *self.input_shape)
        return self.of_one("torch.nn.GroupNorm", shape, shape, features_last=False)


SECTION = GroupNorm
