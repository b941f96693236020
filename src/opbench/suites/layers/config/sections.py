"""The sections of a layer config: one model per family of layers, with the rules of torch.nn.

Every constructor argument of the torch.nn layer is a key; keys that are left out stay with
torch.nn's own defaults, because they are not passed on at all. The other keys say what the input
looks like.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from opbench.define.document import RuleError
from opbench.suites.layers.config.rules import (
    Count,
    Flag,
    Padding,
    Positive,
    Shape,
    Share,
    Size,
    Sizes,
    shown,
)


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
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


class Linear(Section):
    in_features: Size
    out_features: Size
    bias: Flag = True
    input_shape: Shape


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


class Attention(Section):
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


class Recurrent(Section):
    INPUT = ("seq_len",)
    input_size: Size
    hidden_size: Size
    num_layers: Size = 1
    #: Of RNN alone.
    nonlinearity: Literal["tanh", "relu"] = "tanh"
    bias: Flag = True
    batch_first: Flag = False
    dropout: Share = 0.0
    bidirectional: Flag = False
    #: Of LSTM alone.
    proj_size: Count = 0
    seq_len: Size

    @model_validator(mode="after")
    def _projection_shrinks(self) -> Recurrent:
        if self.proj_size >= self.hidden_size:
            raise RuleError(
                "proj_size", f"{self.proj_size} is not below hidden_size {self.hidden_size}"
            )
        return self


def one_to_three(key: str, shape: tuple[int, ...]) -> None:
    if not 1 <= len(shape) <= 3:
        raise RuleError(key, f"one to three sizes decide between 1d, 2d and 3d, found {len(shape)}")
