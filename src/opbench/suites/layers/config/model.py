"""A layer config as data: layers with their sizes, and the settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from opbench.define.document import first_error
from opbench.errors import UserError
from opbench.suites.layers.names import (
    BASELINE,
    BATCH_SIZES,
    HOOKS,
    MODES,
    SECTIONS,
    STUDY,
    classic_name,
)
from opbench.suites.layers.sections import sections
from opbench.suites.layers.sections.rules import Count, Size, shown, size

#: The keys under which a list of comparisons stands; `models` in the oldest files.
LISTS = ("layers", "models")
Clock = Literal["python", "cuda", "torch"]


def list_of_sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of sizes such as [16, 32], found {shown(value)}")
    return tuple(dict.fromkeys(size(number) for number in value))


def list_of_clocks(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f'expected a list of timers such as ["python"], found {shown(value)}')
    return value


class Settings(BaseModel):
    """How the layers of a file are to be run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_warmups: Count = 0
    num_runs: Size | None = None
    num_repeats: Size | None = None
    benchmark: Clock | None = None
    benchmarks: Annotated[tuple[Clock, ...], BeforeValidator(list_of_clocks)] = ()
    batch_sizes: Annotated[tuple[int, ...], BeforeValidator(list_of_sizes)] = ()

    def options(self) -> dict[str, Any]:
        """By the names of `opbench.run`'s arguments."""
        wished: dict[str, Any] = {"num_runs": self.num_runs, "num_repeats": self.num_repeats}
        clocks = dict.fromkeys((*((self.benchmark,) if self.benchmark else ()), *self.benchmarks))
        if len(clocks) == 1:
            (wished["clock"],) = clocks
        elif clocks:
            wished["metrics"] = (*(f"time_{clock}" for clock in clocks), "memory")
        return {name: value for name, value in wished.items() if value is not None}


_FIELDS: dict[str, Any] = {key: (sections()[key] | None, None) for key in SECTIONS.values()}
#: A file by section: a key for each, and the settings.
Sections = create_model("Sections", __base__=Settings, **_FIELDS)


@dataclass(frozen=True)
class Entry:
    """One layer with one set of sizes."""

    layer: str
    section: Any
    modes: tuple[str, ...] = MODES
    batch_sizes: tuple[int, ...] = BATCH_SIZES
    #: Counts the entries of a layer that the file has with several sets of sizes, from 1; 0 for
    #: the only one.
    number: int = 0


@dataclass(frozen=True)
class Config:
    entries: tuple[Entry, ...]
    settings: Settings
    #: Whether the file names modes; else every mode can be asked of every layer.
    compares: bool = False

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(entry.layer for entry in self.entries))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(layer, mode) to run where none are asked for: each layer as it is and in hooks, but
        those of the study as it had them."""
        if self.compares:
            return tuple(dict.fromkeys((e.layer, mode) for e in self.entries for mode in e.modes))
        return tuple(
            (layer, mode)
            for layer in self.layers
            for mode in (BASELINE, HOOKS)
            if layer not in STUDY or classic_name(layer, mode)
        )

    def section(self, layer: str, number: int = 0) -> Any:
        """The sizes of a layer; None where the file has none."""
        fitting = (e for e in self.entries if e.layer == layer and number in (0, e.number))
        return next((entry.section for entry in fitting), None)


def validated(model: type[BaseModel], data: dict[str, Any], origin: str) -> Any:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{origin}: {first_error(error, model)}") from None
