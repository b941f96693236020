"""A linear layer."""

from __future__ import annotations

from opbench.suites.layers.sections.rules import Flag, Shape, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class Linear(Section):
    in_features: Size
    out_features: Size
    bias: Flag = True
    input_shape: Shape

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, *self.input_shape)
        x, output = (*shape, self.in_features), (*shape, self.out_features)
        return self.of_one("torch.nn.Linear", x, output)


SECTION = Linear
