"""Layer results as one CSV file that stands on its own: values, factors, components, environment.

The environment stands in lines that begin with `#`, before the header, so that a file in a
repository says where its numbers are from; readers of CSV are told to skip them
(`pandas.read_csv(path, comment="#")`). Times are seconds, memory bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from opbench.analyse.factors import Factor, Row
from opbench.define.definition import DefineError
from opbench.define.layers.names import LAYERS, MODES
from opbench.store.records import RunRecord

PLAIN = ("layer", "mode", "batch_size", "stage", "device", "metric", "unit", "outcome", "reason")
NUMBERS = ("estimate", "low", "high")
FACTORS = ("factor", "factor_nn")
PREFIX = "component."


def write(rows: Sequence[Row], stream: TextIO, environment: Iterable[str] = ()) -> None:
    stream.writelines(f"# {' '.join(line.split())}\n" for line in environment)
    components = dict.fromkeys(name for row in rows for name in row.components)
    columns = [*PLAIN, *NUMBERS]
    columns += [name + end for name in FACTORS for end in ("", "_low", "_high")]
    columns += [PREFIX + name for name in components]
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        line: dict[str, Any] = {name: getattr(row, name) for name in PLAIN}
        line.update({name: _number(getattr(row, name)) for name in NUMBERS})
        for name in FACTORS:
            factor: Factor | None = getattr(row, name)
            if factor is not None:
                line[name] = _number(factor.value)
                line[name + "_low"], line[name + "_high"] = map(_number, (factor.low, factor.high))
        line.update({PREFIX + name: size for name, size in row.components.items()})
        writer.writerow(line)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def read(path: Path) -> tuple[list[Row], list[str]]:
    """The rows of such a file, and the lines about its environment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise DefineError(f"cannot read {path}: {reason}") from None
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    missing = [name for name in (*PLAIN, *NUMBERS) if name not in (reader.fieldnames or ())]
    if missing:
        raise DefineError(f"{path}: no column {missing[0]}; is it a file of `report layers`?")
    rows = []
    for line in reader:
        try:
            rows.append(_row(line))
        except (TypeError, ValueError) as error:
            raise DefineError(f"{path} line {reader.line_num + len(notes)}: {error}") from None
    return rows, notes


def _row(line: dict[str, str]) -> Row:
    if line["layer"] not in LAYERS or line["mode"] not in MODES:
        raise ValueError(f"there is no layer {line['layer']} in mode {line['mode']}")
    return Row(
        **{name: line[name] for name in PLAIN if name != "batch_size"},  # type: ignore[arg-type]
        batch_size=int(line["batch_size"]),
        **{name: float(line[name]) if line[name] else None for name in NUMBERS},  # type: ignore[arg-type]
        **{name: _factor(line, name) for name in FACTORS},  # type: ignore[arg-type]
        components={
            name[len(PREFIX) :]: int(float(value))
            for name, value in line.items()
            if name.startswith(PREFIX) and value
        },
    )


def _factor(line: dict[str, str], name: str) -> Factor | None:
    texts = [line.get(name + end) or "" for end in ("", "_low", "_high")]
    return Factor(*map(float, texts)) if all(texts) else None


def environment_lines(run: RunRecord) -> list[str]:
    """Where the numbers of a run are from, one fact per line."""
    machine = run.machine
    cpu, python = machine.get("cpu") or {}, machine.get("python") or {}
    memory = (machine.get("memory") or {}).get("total") or 0
    gpus = machine.get("gpus") or []
    packages = python.get("packages") or {}
    policy = " ".join(f"{key}={value}" for key, value in run.policy.items())
    return [
        f"run: {run.id}, opbench {run.version}" + (f", commit {run.commit}" if run.commit else ""),
        f"command: {run.command}",
        f"cpu: {cpu.get('model')}, {cpu.get('logical_cores')} cores, {memory / 2**30:.0f} GiB",
        *(f"gpu: {_gpu(gpu)}" for gpu in gpus),
        f"python: {python.get('version')}; "
        + ", ".join(f"{name} {version}" for name, version in packages.items()),
        f"system: {(machine.get('system') or {}).get('os')}, "
        f"kernel {(machine.get('system') or {}).get('kernel')}",
        f"load at the beginning: {(machine.get('load') or {}).get('load_1m')}",
        f"sampling: {policy}",
    ]


def _gpu(gpu: Any) -> str:
    if not isinstance(gpu, dict):
        return str(gpu)
    return ", ".join(f"{key} {value}" for key, value in gpu.items() if value not in (None, ""))
