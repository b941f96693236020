"""What a sweep file may hold, checked, with errors for the person who wrote it.

The same keys stand at the top level of a TOML or JSON file and at the top level of a Python file.
Imports pydantic, so import this module only when there is a sweep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from opbench.define.reading import (
    axis_name,
    axis_values,
    benchmark_name,
    name_list,
    python_source,
    stage_list,
)
from opbench.define.runfile import Run
from opbench.errors import nearest, unknown

#: How people write the numbers and the runtimes, and what we call them.
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
OTHER_DTYPES = {
    "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
}  # fmt: skip
RUNTIMES = ("pt", "ort", "compile")
OTHER_RUNTIMES = {
    "torch": "pt", "pytorch": "pt", "eager": "pt", "onnxruntime": "ort", "onnx": "ort",
    "inductor": "compile",
}  # fmt: skip
#: Axes that every sweep has besides those of `input_scales`.
TAKEN = ("dtype", "runtime", "device", "threads")


@dataclass(frozen=True)
class Config:
    dtype: str
    runtime: str


def config(value: Any) -> Config:
    """`{"dtype": "fp16", "runtime": "ort"}`, `["fp16", "ort"]` or `"fp16 ort"`; one may be left
    out: numbers are fp32, and the runtime is pt, unless said otherwise."""
    words = _words(value)
    found: dict[str, str] = {}
    for word in words:
        name = str(word).lower()
        dtype = name if name in DTYPES else OTHER_DTYPES.get(name)
        runtime = name if name in RUNTIMES else OTHER_RUNTIMES.get(name)
        what = "dtype" if dtype else "runtime"
        if dtype is None and runtime is None:
            raise ValueError(unknown("dtype or runtime", str(word), [*DTYPES, *RUNTIMES]))
        if what in found:
            raise ValueError(f"expected one {what}, found {found[what]} and {word} in {value!r}")
        found[what] = str(dtype or runtime)
    return Config(found.get("dtype", "fp32"), found.get("runtime", "pt"))


def _words(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [word for word in re.split(r"[^A-Za-z0-9_]+", value) if word]
    if isinstance(value, dict):
        _check_keys(value)
        return list(value.values())
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    raise ValueError(
        f"expected a config such as {{dtype = 'fp16', runtime = 'ort'}}, found {value!r}"
    )


def _check_keys(config: Iterable[str]) -> None:
    for key in config:
        if key not in ("dtype", "runtime"):
            raise ValueError(unknown("key", key, ("dtype", "runtime")))


def configs(value: Any) -> list[Config]:
    """A list of configs, or `{dtype = [...], runtime = [...]}` for all their combinations."""
    if isinstance(value, dict):
        lists = {key: v if isinstance(v, list) else [v] for key, v in value.items()}
        _check_keys(lists)
        dtypes, runtimes = lists.get("dtype", ["fp32"]), lists.get("runtime", ["pt"])
        value = [{"dtype": d, "runtime": r} for r in runtimes for d in dtypes]
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of configs, found {value!r}")
    distinct = list(dict.fromkeys(map(config, value)))
    if len(distinct) < len(value):
        raise ValueError("expected each config once")
    return distinct


def dims(value: Any) -> list[list[Any]]:
    """One list of dims per input; a dim is a name, or a number that never varies."""
    if not isinstance(value, list) or not value:
        raise ValueError("expected one list of dim names per input: [['batch', 'hidden']]")
    for names in value:
        if not isinstance(names, list):
            raise ValueError(
                f"expected a list of lists, one per input: [['batch', 'hidden']]; found {names!r}"
            )
        for dim in names:
            number = isinstance(dim, int) and not isinstance(dim, bool) and dim > 0
            if not number and not isinstance(dim, str):
                raise ValueError(f"expected the name of a dim or a whole number, found {dim!r}")
    return value


class Sweep(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    #: `models.py:Mini`, `package.module:Mini`, or, from a Python file, its description.
    model: str | dict[str, Any]
    model_init_params: Annotated[list[str], BeforeValidator(name_list)] = []
    input_params: Annotated[list[list[Any]], BeforeValidator(dims)]
    input_scales: dict[
        Annotated[str, BeforeValidator(axis_name)],
        Annotated[list[Any], BeforeValidator(axis_values)],
    ]
    job_configs: Annotated[list[Config], BeforeValidator(configs)] = [Config("fp32", "pt")]
    #: Called after the file when left out.
    name: Annotated[str, BeforeValidator(benchmark_name)] | None = None
    stages: Annotated[list[str], BeforeValidator(stage_list)] = ["forward", "backward"]
    #: What each input is filled with: `normal`, `uniform`, `ones`, or `integers:DIM`.
    input_values: Annotated[list[str], BeforeValidator(name_list)] = []
    #: Whether the model is in training mode, as it is when it is made, or in `eval()`.
    training: bool = True
    #: Where the backward stage starts, as an expression over the returned `y`.
    output: Annotated[str, BeforeValidator(python_source)] = "y"
    run: Run = Run()

    @model_validator(mode="after")
    def _every_dim_is_known_and_used(self) -> Sweep:
        scales = self.input_scales
        if not scales:
            raise ValueError("input_scales: expected the values of at least one dim")
        for name in scales:
            if name in TAKEN:
                raise ValueError(f"input_scales: '{name}' is reserved; rename the dim")
        sized = {dim for names in self.input_params for dim in names if isinstance(dim, str)}
        limits = [text.partition(":")[2] for text in self.input_values]
        asked = {
            "model_init_params": self.model_init_params,
            "input_params": sorted(sized),
            "input_values": [text for text in limits if text and not text.isdecimal()],
        }
        for where, names in asked.items():
            for name in names:
                if name not in scales:
                    hint = nearest(name, scales) or "; give it values there"
                    raise ValueError(f"{where}: '{name}' is not in input_scales{hint}")
        used = {*self.model_init_params, *sized, *asked["input_values"]}
        for name, values in scales.items():
            if name not in used:
                raise ValueError(f"input_scales: nothing uses the dim '{name}'")
            for value in values if name in sized or name in limits else ():
                if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                    raise ValueError(
                        f"input_scales.{name}: the size of an input is a whole number from 1 up, "
                        f"not {value!r}"
                    )
        self._check_values()
        for stage in self.stages:
            if stage == "call":
                raise ValueError("stages: a model has forward, backward, forward_backward and step")
        return self

    def _check_values(self) -> None:
        if self.input_values and len(self.input_values) != len(self.input_params):
            raise ValueError(
                f"input_values: expected one per input ({len(self.input_params)}), found "
                f"{len(self.input_values)}"
            )
        for text in self.input_values:
            kind, colon, limit = text.partition(":")
            known = kind == "integers" if colon else kind in ("normal", "uniform", "ones")
            if not known or (colon and not limit):
                raise ValueError(
                    "input_values: expected normal, uniform, ones or integers:DIM (from 0 up to "
                    f"that dim), found '{text}'"
                )

    def limit_of(self, index: int, point: Any) -> int | None:
        """For an input of whole numbers: the first number it does not contain."""
        text = self.input_values[index] if self.input_values else ""
        _, colon, limit = text.partition(":")
        if not colon:
            return None
        return int(limit) if limit.isdecimal() else int(point[limit])
