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
from importlib import resources
from pathlib import Path
from typing import Any

from opbench.define.document import read
from opbench.errors import UserError
from opbench.suites.layers.config.comparisons import comparisons
from opbench.suites.layers.config.model import LISTS, Config, Entry, Sections, validated
from opbench.suites.layers.names import BATCH_SIZES, LAYERS, SECTIONS


def published() -> Config:
    """The configuration of arXiv:2109.12298."""
    text = resources.files("opbench.data").joinpath("layers.json").read_text(encoding="utf-8")
    return checked(json.loads(text), "published")


def load(path: str | Path) -> Config:
    return checked(read(Path(path)), str(path))


def is_config(data: Any) -> bool:
    """Whether a file is meant to be a layer config."""
    if not isinstance(data, dict):
        return False
    listed = [data[key] for key in LISTS if isinstance(data.get(key), list)]
    compares = any(isinstance(e, dict) and "comparison" in e for entries in listed for e in entries)
    return compares or bool(set(data) & set(SECTIONS.values()))


def checked(data: Any, origin: str) -> Config:
    """The config, or an error that begins with `origin`."""
    if not isinstance(data, dict):
        raise UserError(f"{origin}: expected an object with a key for each layer")
    if set(LISTS) & set(data):
        return comparisons(data, origin)
    found = validated(Sections, data, origin)
    config = Config(tuple(_entries(found)), found)
    if not config.entries:
        known = ", ".join(dict.fromkeys(SECTIONS.values()))
        raise UserError(f"{origin}: no layer; choose from: {known}")
    return config


def _entries(found: Sections) -> Iterator[Entry]:
    for layer in LAYERS:
        section = getattr(found, SECTIONS[layer])
        if section is not None:
            yield Entry(layer, section, batch_sizes=found.batch_sizes or BATCH_SIZES)
