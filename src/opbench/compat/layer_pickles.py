"""The helpers of the Opacus layer benchmarks: names of configs and files, and the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def get_layer_set(layer: str) -> str:
    """The section of a config that serves this layer: `rnn_base` for `gsm_dplstm`."""
    from opbench.suites.layers.names import SECTIONS, read_name

    return SECTIONS[read_name(layer)[0]]


def get_path(
    layer: str,
    batch_size: int,
    num_runs: int,
    num_repeats: int,
    gsm_mode: str | None = None,
    random_seed: int | None = None,
    forward_only: bool = False,
    root: str = "./results/raw/",
    suffix: str = "",
) -> str:
    """The file of one result, as text; without a mode, under the name that files had in 2021. The
    text begins with `root` as it is, so a folder ends with its slash."""
    record = _record(layer, batch_size, num_runs, num_repeats, gsm_mode, random_seed, forward_only)
    return f"{root}{record.file_name(suffix)}"


def save_results(
    layer: str,
    batch_size: int,
    num_runs: int,
    num_repeats: int,
    gsm_mode: str | None = None,
    results: Sequence[dict[str, Any]] = (),
    config: dict[str, Any] | None = None,
    random_seed: int | None = None,
    forward_only: bool = False,
    root: str = "./results/raw/",
    suffix: str = "",
) -> None:
    """Write a list of `{"runtime": …, "memory_stats": …}` as the file of `get_path`."""
    from opbench.suites.layers.pickles import write

    record = _record(
        layer, batch_size, num_runs, num_repeats, gsm_mode, random_seed, forward_only, config
    )
    write(Path(f"{root}{record.file_name(suffix)}"), record.with_results(list(results)))


def load_results(path: str | Path) -> dict[str, Any]:
    """The content of such a file. It is read as data and never executed: `ValueError` for a
    pickle that holds anything but plain values."""
    from opbench.imports.plain_pickle import loads

    content = loads(Path(path).read_bytes())
    if not isinstance(content, dict) or "results" not in content:
        raise ValueError(f"{path} is not a result of the layer benchmarks")
    return content


def _record(
    layer: str,
    batch_size: int,
    num_runs: int,
    num_repeats: int,
    mode: str | None,
    random_seed: int | None,
    forward_only: bool,
    config: dict[str, Any] | None = None,
) -> Any:
    from opbench.suites.layers.names import read_name
    from opbench.suites.layers.pickles import Record

    name, classic_mode = read_name(layer)
    return Record(
        layer=name,
        mode=mode or classic_mode,
        batch_size=batch_size,
        num_runs=num_runs,
        num_repeats=num_repeats,
        random_seed=random_seed,
        forward_only=forward_only,
        config=config or {},
        named=layer if mode is None else f"{layer}_mode_{mode}",
    )
