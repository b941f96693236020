"""Layer configs: every form the layer benchmarks had, checked before anything runs.

By section, as Opacus has it; one section serves the plain, the DP and the wrapped layer:

    {"linear": {"input_shape": [], "in_features": 512, "out_features": 512}, "rnn_base": {…}}

As a list of comparisons, as microbe had it (`comparisons` reads its variants):

    {"layers": [{"comparison": ["linear", "gsm_linear"], "config": {…}}], "num_runs": 100}

Either may have the settings of a run at its top level; the command line overrides them. The
published configuration comes with opbench and is what runs when no file is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from opbench.define.document import read
from opbench.errors import UserError, nearest
from opbench.suites.layers.config.comparisons import comparisons
from opbench.suites.layers.config.model import LISTS, Config, Entry, Sections, Settings, validated
from opbench.suites.layers.names import (
    BATCH_SIZES,
    LAYERS,
    NAMES,
    RENAMED,
    SECTIONS,
    STUDY,
    read_name,
)
from opbench.suites.layers.sections import sections

#: Names of layers, and the section that has the sizes of each.
OF_SECTIONS = {
    **{name: SECTIONS[read_name(RENAMED.get(name, name))[0]] for name in (*NAMES, *RENAMED)},
    **{section: section for section in SECTIONS.values()},
}
#: Keys that say what the input of a layer looks like.
INPUT_KEYS = {key for section in sections().values() for key in section.INPUT}


def published() -> Config:
    """The configuration of arXiv:2109.12298."""
    text = resources.files("opbench.data").joinpath("layers.json").read_text(encoding="utf-8")
    found = checked(json.loads(text), "published")
    return replace(found, entries=tuple(e for e in found.entries if e.layer in STUDY))


def load(path: str | Path) -> Config:
    return checked(read(Path(path)), str(path))


def is_config(data: Any) -> bool:
    """Whether a file is meant to be a layer config."""
    if not isinstance(data, dict):
        return False
    listed = [data[key] for key in LISTS if isinstance(data.get(key), list)]
    compares = any(isinstance(e, dict) and "comparison" in e for entries in listed for e in entries)
    return compares or bool(set(data) & set(SECTIONS.values()))


def resembles_config(data: Any) -> bool:
    """Whether a file that is no run file is a layer config with mistakes, to be named as such."""
    if not isinstance(data, dict) or "run" in data or isinstance(data.get("benchmark"), list):
        return False
    misspelt = (
        isinstance(table, dict)
        and INPUT_KEYS & set(table)
        and nearest(key, OF_SECTIONS, cutoff=0.75)
        for key, table in data.items()
    )
    return bool({*LISTS, *OF_SECTIONS} & set(data)) or any(misspelt)


def checked(data: Any, origin: str) -> Config:
    """The config, or an error that begins with `origin`."""
    if not isinstance(data, dict):
        raise UserError(f"{origin}: expected an object with a key for each layer")
    if set(LISTS) & set(data):
        return comparisons(data, origin)
    for key in data:
        if key in OF_SECTIONS and key not in Sections.model_fields:
            raise UserError(f"{origin}: unknown section '{key}'; write {OF_SECTIONS[key]}")
    found = validated(Sections, data, origin)
    config = Config(tuple(_entries(found)), found)
    if not config.entries:
        known = ", ".join(dict.fromkeys(SECTIONS.values()))
        raise UserError(f"{origin}: no layer; choose from: {known}")
    return config


def _entries(found: Settings) -> Iterator[Entry]:
    for layer in LAYERS:
        section = getattr(found, SECTIONS[layer])
        if section is not None:
            yield Entry(layer, section, batch_sizes=found.batch_sizes or BATCH_SIZES)
