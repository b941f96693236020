"""What the sections of a layer config have in common.

Every constructor argument of the torch.nn layer is a key; keys that are left out stay with
torch.nn's own defaults, because they are not passed on at all. The other keys say what the input
looks like.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from opbench.define.document import RuleError
from opbench.define.program import Tensor
from opbench.suites.layers.shapes import Shaped


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    #: The layers that have these keys, `dp…` for the version of `opacus.layers`; if none are given,
    #: the one that is called as the file.
    LAYERS: ClassVar[tuple[str, ...]] = ()
    #: Keys that describe the input rather than the layer.
    INPUT: ClassVar[tuple[str, ...]] = ("input_shape",)
    #: The key that gives the layer its parameters, where it can go without.
    AFFINE: ClassVar[str] = ""

    dtype: Literal["float32", "float64", "float16", "bfloat16"] = "float32"

    @model_validator(mode="before")
    @classmethod
    def _device_is_an_option(cls, data: Any) -> Any:
        if isinstance(data, dict) and "device" in data:
            raise RuleError("device", "not allowed in a config file; use --device")
        return data

    def arguments(self) -> dict[str, Any]:
        """Constructor arguments as the file gave them, in the order of torch.nn."""
        others = {*self.INPUT, "dtype"}
        given = [name for name in type(self).model_fields if name in self.model_fields_set]
        return {name: getattr(self, name) for name in given if name not in others}

    def without_parameters(self) -> str:
        """Why there is nothing to differentiate, and what to change; empty for a usual layer."""
        if not self.AFFINE or getattr(self, self.AFFINE):
            return ""
        said = "is false" if self.AFFINE in self.model_fields_set else "is not given"
        return (
            f"{self.AFFINE} {said}, so the layer has no parameters and no backward pass; set it "
            "to true, or measure the forward pass alone"
        )

    @abc.abstractmethod
    def shaped(self, layer: str, batch: int) -> Shaped:
        """The layer at one batch size."""

    def of_one(
        self, kind: str, x: tuple[int, ...], output: tuple[int, ...], *, features_last: bool = True
    ) -> Shaped:
        """A layer that takes one tensor, of the shape `x`, and gives another."""
        inputs = (Tensor("x", x, self.dtype),)
        return Shaped(
            kind, inputs, output, self.arguments(), features_last=features_last, dtype=self.dtype
        )
