"""Raw samples as one compressed block: JSON columns under zlib, never pickle.

Columns compress far better than rows, and a column in which every sample has the default value is
left out. A reader ignores columns it does not know and fills in those it misses, so `Sample` may
grow a field without a new schema.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import fields
from itertools import repeat
from typing import Any

from opbench.result import Sample
from opbench.store import quick_json

#: A column as `pack` writes it.
_COLUMN = re.compile(rb'"(\w+)":\[[^\]]*\]')
#: Of one result. Two bytes before packing can stand for a sample, and that takes a hundred as an
#: object.
MOST_SAMPLES = 1_000_000
#: Bytes of the samples of one result, before they are packed: so many take some eighty megabytes.
LARGEST = 128 << 20
NUMBERS = {int, float}
#: In the order of the fields, after `value`.
_DEFAULTS = {field.name: field.default for field in fields(Sample) if field.name != "value"}


def sample_columns(samples: Iterable[Sample]) -> dict[str, list[Any]]:
    """`{"value": [...], "start": [...]}`, without the columns that hold defaults only."""
    taken = list(samples)
    columns: dict[str, list[Any]] = {"value": [sample.value for sample in taken]}
    for name, default in _DEFAULTS.items():
        column = [getattr(sample, name) for sample in taken]
        if any(value != default for value in column):
            columns[name] = column
    return columns


def samples_from_columns(columns: dict[str, list[Any]]) -> tuple[Sample, ...]:
    count = len(columns["value"])
    if count > MOST_SAMPLES:
        raise ValueError(f"more than {MOST_SAMPLES:,} samples")
    if not {*map(type, columns["value"])} <= NUMBERS:
        raise ValueError("a sample is not a number")
    given = [columns.get(name) or repeat(default, count) for name, default in _DEFAULTS.items()]
    # Positional and column by column: a comparison reads hundreds of thousands of samples.
    return tuple(map(Sample, columns["value"], *given))


def pack(samples: Iterable[Sample]) -> bytes:
    text = json.dumps(sample_columns(samples), separators=(",", ":"), default=_plain_number)
    return zlib.compress(text.encode("ascii"))


def unpack(payload: bytes) -> tuple[Sample, ...]:
    return samples_from_columns(columns(payload))


def columns(payload: bytes, wanted: Collection[str] = ()) -> dict[str, list[Any]]:
    """For a reader of very many results, who needs a column or two (or all) and no objects."""
    text = _decompressed(payload)
    if text.count(b",") > MOST_SAMPLES * (1 + len(_DEFAULTS)):
        raise ValueError(f"more than {MOST_SAMPLES:,} samples")
    if wanted:
        # Flat lists of numbers: those that nobody asked for need not be read to be passed over.
        parts = [found[0] for found in _COLUMN.finditer(text) if found[1].decode() in wanted]
        text = b"{" + b",".join(parts) + b"}"
    loaded: dict[str, list[Any]] = quick_json.loads(text)
    return loaded


def _decompressed(payload: bytes) -> bytes:
    """A thousandfold is the most that zlib can do: only a large payload can become too large."""
    if len(payload) * 1100 <= LARGEST:
        return zlib.decompress(payload)
    engine = zlib.decompressobj()
    text = engine.decompress(payload, LARGEST)
    if not engine.eof:
        raise ValueError(f"more than {LARGEST >> 20} MiB of samples, or cut short")
    return text


def _plain_number(value: Any) -> Any:
    """The value of a numpy scalar; anything else in a sample is a bug and says so."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a sample holds {value!r}, which is not a number")
