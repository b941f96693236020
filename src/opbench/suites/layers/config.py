"""Layer configs: the JSON format of the Opacus benchmarks, checked before anything runs.

    {"linear": {"input_shape": [], "in_features": 512, "out_features": 512}, "rnn_base": {…}}

A file may hold any of the sections; layers without one are not run. The published configuration
comes with opbench and is what runs when no file is given.
"""

from __future__ import annotations

import difflib
import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from opbench.errors import UserError
from opbench.suites.layers import sections
from opbench.suites.layers.names import LAYERS, SECTIONS
from opbench.suites.layers.rules import Count, Rule, shown, size


class ConfigError(UserError):
    """`FILE: key: rule`, in one line."""


def batch_sizes(value: Any) -> tuple[int, ...]:
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
    batch_sizes: Annotated[tuple[int, ...], BeforeValidator(batch_sizes)] = ()

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
    from opbench.define.runfile import refuse, without_repeats

    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    try:
        data = json.loads(text, object_pairs_hook=without_repeats, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path} line {error.lineno}: not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from None
    return checked(data, str(path))


def checked(data: Any, origin: str) -> Config:
    """The config, or `origin: key: rule`."""
    if not isinstance(data, dict):
        raise ConfigError(f"{origin}: a layer config is an object with a key for each layer")
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {complaint(error)}") from None
    if not config.layers:
        raise ConfigError(f"{origin}: no layer; there is {', '.join(sections_known())}")
    return config


def sections_known() -> list[str]:
    return list(dict.fromkeys(SECTIONS.values()))


def complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    first = problems[0]
    keys = [str(part) for part in first["loc"]]
    reason = (first.get("ctx") or {}).get("error")
    if isinstance(reason, Rule):
        keys.append(reason.key)
    if first["type"] == "extra_forbidden":
        text = unknown(keys)
    elif first["type"] == "missing":
        text = "missing, and needed"
    elif first["type"] == "value_error":
        text = str(reason)
    else:
        expected = first["msg"].replace("Input should be ", "expected ")
        text = f"{expected}, found {shown(first['input'])}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{'.'.join(keys)}: {text}{more}"


def unknown(keys: list[str]) -> str:
    """For a key that is no layer, or no argument of its layer."""
    if len(keys) == 1:
        what, valid = "unknown layer", sections_known()
    else:
        model = Config.model_fields[keys[0]].annotation
        kind = next(part for part in model.__args__ if part is not type(None))  # type: ignore[union-attr]
        what, valid = "unknown key", [key for key in kind.model_fields if key != "device"]
    near = difflib.get_close_matches(keys[-1], valid, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(valid)}"
    return f"{what}; {hint}"
