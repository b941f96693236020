"""An instance norm: 1d, 2d or 3d by the rank of its input."""

from __future__ import annotations

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.suites.layers.sections.rules import Flag, Positive, Shape, Share, Size, one_to_three
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class InstanceNorm(Section):
    AFFINE = "affine"
    num_features: Size
    eps: Positive = 1e-5
    momentum: Share = 0.1
    affine: Flag = False
    track_running_stats: Flag = False
    bias: Flag = True
    input_shape: Shape

    @model_validator(mode="after")
    def _spatial(self) -> InstanceNorm:
        one_to_three("input_shape", self.input_shape)
        if all(length == 1 for length in self.input_shape):
            raise RuleError("input_shape", "one spatial element has no variance to normalise by")
        return self

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, self.num_features, *self.input_shape)
        kind = f"torch.nn.InstanceNorm{len(self.input_shape)}d"
        return self.of_one(kind, shape, shape, features_last=False)


SECTION = InstanceNorm
