"""Layer configs as a list of comparisons, in all the variants microbe had.

    {"layers": [{"comparison": ["linear", "gsm_linear"], "config": {"in_features": 16, …}}]}

Older files have several comparisons in one entry (`[["linear", "gsm_linear"], …]`), the batch size
in the entry's config (`batch_size`, or `N`), `dplinear` for `gsm_linear`, and `models` for
`layers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from opbench.errors import UserError, unknown
from opbench.suites.layers.config.model import LISTS, Config, Entry, Sections, Settings, validated
from opbench.suites.layers.names import BATCH_SIZES, MODES, RENAMED, SECTIONS, read_name
from opbench.suites.layers.sections import sections
from opbench.suites.layers.sections.rules import shown

#: Keys of an entry, and what each holds.
ENTRY = {
    "comparison": 'a list of layers such as ["linear", "gsm_linear"]',
    "config": 'the sizes of the layers such as {"input_shape": [], "in_features": 16, …}',
}
#: Keys of the batch size in an entry's config.
BATCH = ("batch_size", "N")


def comparisons(data: dict[str, Any], origin: str) -> Config:
    """The config in such a file, or an error that begins with `origin`."""
    given = [key for key in LISTS if key in data]
    if len(given) > 1:
        raise UserError(f"{origin}: {' and '.join(given)} name the same list; keep one")
    (key,) = given
    rest = {name: value for name, value in data.items() if name != key}
    settings = validated(Settings, rest, origin)
    if not isinstance(data[key], list) or not data[key]:
        raise UserError(
            f"{origin}: {key}: expected a list of comparisons, found {shown(data[key])}"
        )
    found: list[Entry] = []
    for number, entry in enumerate(data[key]):
        found += _entries(entry, f"{origin}: {key}[{number}]", settings)
    return Config(tuple(_numbered(_merged(found))), settings, compares=True)


def _entries(entry: Any, origin: str, settings: Settings) -> Iterator[Entry]:
    if not isinstance(entry, dict):
        expected = "expected an object with the keys comparison and config"
        raise UserError(f"{origin}: {expected}, found {shown(entry)}")
    for key in ENTRY:
        if key not in entry:
            raise UserError(f"{origin}: {key} is missing, {ENTRY[key]}")
    for key in entry:
        if key not in ENTRY:
            raise UserError(f"{origin}: {unknown('key', str(key), ENTRY)}")
    if not isinstance(entry["config"], dict):
        raise UserError(f"{origin}.config: expected an object, found {shown(entry['config'])}")
    keys = dict(entry["config"])
    sizes = [_batch_sizes(keys.pop(key), f"{origin}.config.{key}") for key in BATCH if key in keys]
    if len(set(sizes)) > 1:
        raise UserError(f"{origin}.config: batch_size and N differ")
    batch_sizes = sizes[0] if sizes else settings.batch_sizes or BATCH_SIZES
    for name in _names(entry["comparison"], f"{origin}.comparison"):
        layer, mode = read_name(name)
        section = SECTIONS[layer]
        content = _without_rank(dict(keys), section, f"{origin}.config")
        checked = validated(Sections, {section: content}, f"{origin}.config")
        yield Entry(layer, getattr(checked, section), (mode,), batch_sizes)


def _names(value: Any, origin: str) -> Iterator[str]:
    """The classic names of a comparison, or of several."""
    if not isinstance(value, list) or not value:
        raise UserError(f"{origin}: expected a list of layers, found {shown(value)}")
    for each in value:
        if isinstance(each, list):
            yield from _names(each, origin)
        elif isinstance(each, str):
            name = RENAMED.get(each, each)
            try:
                read_name(name)
            except UserError as error:
                raise UserError(f"{origin}: {error}") from None
            yield name
        else:
            raise UserError(f"{origin}: expected the name of a layer, found {shown(each)}")


def _batch_sizes(value: Any, origin: str) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) else [value]
    found = validated(Settings, {"batch_sizes": sizes}, origin)
    batch_sizes: tuple[int, ...] = found.batch_sizes
    return batch_sizes


def _without_rank(keys: dict[str, Any], section: str, origin: str) -> dict[str, Any]:
    """Without a `D` that only repeats the rank of the input (1d, 2d, 3d); layers such as a layer
    norm have one of their own."""
    shape = keys.get("input_shape")
    if "D" in keys and "D" not in sections()[section].INPUT and isinstance(shape, list):
        rank = keys.pop("D")
        if rank != len(shape):
            raise UserError(f"{origin}.D: {shown(rank)} is not the rank of input_shape {shape}")
    return keys


def _merged(entries: Sequence[Entry]) -> list[Entry]:
    """One entry for each layer and set of sizes, with every mode and batch size asked of it."""
    found: dict[tuple[str, Any], Entry] = {}
    for entry in entries:
        known = found.setdefault((entry.layer, entry.section), entry)
        modes = {*known.modes, *entry.modes}
        sizes = dict.fromkeys((*known.batch_sizes, *entry.batch_sizes))
        found[entry.layer, entry.section] = replace(
            known, modes=tuple(m for m in MODES if m in modes), batch_sizes=tuple(sizes)
        )
    return list(found.values())


def _numbered(entries: Sequence[Entry]) -> Iterator[Entry]:
    """A layer with several sets of sizes gets a number for each."""
    counts = Counter(entry.layer for entry in entries)
    seen: Counter[str] = Counter()
    for entry in entries:
        seen[entry.layer] += 1
        yield entry if counts[entry.layer] == 1 else replace(entry, number=seen[entry.layer])
