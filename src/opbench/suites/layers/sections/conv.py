"""A convolution: 1d, 2d or 3d by the rank of its input."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from opbench.define.document import RuleError
from opbench.suites.layers.sections.rules import (
    Flag,
    Padding,
    Shape,
    Size,
    Sizes,
    one_to_three,
    shown,
)
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class Conv(Section):
    in_channels: Size
    out_channels: Size
    kernel_size: Sizes
    stride: Sizes = 1
    padding: Padding = 0
    dilation: Sizes = 1
    groups: Size = 1
    bias: Flag = True
    padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros"
    input_shape: Shape

    @model_validator(mode="after")
    def _fits(self) -> Conv:
        one_to_three("input_shape", self.input_shape)
        for key in ("in_channels", "out_channels"):
            if getattr(self, key) % self.groups:
                raise RuleError(
                    "groups", f"{self.groups} does not divide {key} {getattr(self, key)}"
                )
        if self.padding == "same" and any(n != 1 for n in self.each("stride")):
            raise RuleError("padding", "'same' needs stride 1")
        if any(length < 1 for length in self.output_shape()):
            reach = [d * (k - 1) + 1 for d, k in zip(self.each("dilation"), self.each("kernel"))]
            raise RuleError(
                "kernel_size",
                f"a kernel that spans {shown(reach)} does not fit an input of "
                f"{shown(self.input_shape)} with padding {shown(self.padding)}",
            )
        return self

    def each(self, key: str) -> tuple[int, ...]:
        """One number per dimension of the input."""
        key = "kernel_size" if key == "kernel" else key
        value = getattr(self, key)
        if isinstance(value, str):
            return (0,) * len(self.input_shape)
        if isinstance(value, int):
            return (value,) * len(self.input_shape)
        if len(value) != len(self.input_shape):
            raise RuleError(key, f"{shown(value)} has another rank than input_shape")
        return tuple(value)

    def output_shape(self) -> tuple[int, ...]:
        if self.padding == "same":
            return self.input_shape
        numbers = zip(
            self.input_shape,
            self.each("kernel"),
            self.each("stride"),
            self.each("padding"),
            self.each("dilation"),
        )
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in numbers)

    def shaped(self, layer: str, batch: int) -> Shaped:
        return self.of_one(
            f"torch.nn.Conv{len(self.input_shape)}d",
            (batch, self.in_channels, *self.input_shape),
            (batch, self.out_channels, *self.output_shape()),
            features_last=False,
        )


SECTION = Conv
