"""Layer configs: the JSON format of the Opacus benchmarks, checked before anything runs.

    {"linear": {"input_shape": [], "in_features": 512, "out_features": 512}, "rnn_base": {…}}

A file may hold any of the sections; layers without one are not run. The published configuration
comes with opbench and is what runs when no file is given.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from opbench.define.document import first_error, read
from opbench.errors import UserError
from opbench.suites.layers import sections
from opbench.suites.layers.names import LAYERS, SECTIONS
from opbench.suites.layers.rules import Count, shown, size


def list_of_sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of sizes such as [16, 32], found {shown(value)}")
    return tuple(size(number) for number in value)


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    linear: sections.Linear | None = None
    conv: sections.Conv | None = None
    layernorm: sections.LayerNorm | None = None
    instancenorm: sections.InstanceNorm | None = None
    groupnorm: sections.GroupNorm | None = None
    embedding: sections.Embedding | None = None
    mha: sections.Attention | None = None
    rnn_base: sections.Recurrent | None = None
    #: Keys of the older form of the file.
    num_warmups: Count = 0
    benchmark: Literal["python", "cuda", "torch"] | None = None
    batch_sizes: Annotated[tuple[int, ...], BeforeValidator(list_of_sizes)] = ()

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers whose section is there."""
        return tuple(layer for layer in LAYERS if getattr(self, SECTIONS[layer]) is not None)

    def section(self, layer: str) -> Any:
        return getattr(self, SECTIONS[layer])


def published() -> Config:
    """The configuration of arXiv:2109.12298."""
    text = resources.files("opbench.data").joinpath("layers.json").read_text(encoding="utf-8")
    return Config.model_validate(json.loads(text))


def load(path: str | Path) -> Config:
    return checked(read(Path(path)), str(path))


def checked(data: Any, origin: str) -> Config:
    """The config, or an error that begins with `origin`."""
    if not isinstance(data, dict):
        raise UserError(f"{origin}: expected an object with a key for each layer")
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{origin}: {first_error(error, Config)}") from None
    if not config.layers:
        sections = ", ".join(dict.fromkeys(SECTIONS.values()))
        raise UserError(f"{origin}: no layer; choose from: {sections}")
    return config
