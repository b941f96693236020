"""Layer results as one CSV file that stands on its own: values, factors, components, environment.

The environment stands in lines that begin with `#`, before the header, so that a file in a
repository says where its numbers are from; readers of CSV are told to skip them
(`pandas.read_csv(path, comment="#")`). Times are seconds, memory bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from opbench.store.records import RunRecord
from opbench.suites.layers.factors import Factor, LayerRow
from opbench.suites.layers.factors_file import FACTORS, NUMBERS, PLAIN, PREFIX

#: Those that decide the numbers.
PACKAGES = ("torch", "opacus", "numpy")


def write(rows: Sequence[LayerRow], stream: TextIO, environment: Iterable[str] = ()) -> None:
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
        + ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages),
        f"system: {(machine.get('system') or {}).get('os')}, "
        f"kernel {(machine.get('system') or {}).get('kernel')}",
        f"load at the beginning: {(machine.get('load') or {}).get('load_1m')}",
        f"sampling: {policy}",
    ]


def _gpu(gpu: dict[str, Any]) -> str:
    """What it is; what it was doing at the beginning of the run is not that."""
    memory = (gpu.get("memory") or 0) / 2**30
    facts = [
        str(gpu.get("name")),
        f"{memory:.0f} GiB",
        f"driver {gpu.get('driver')}",
        f"at most {gpu.get('mhz_max')} MHz and {gpu.get('power_limit_watts')} W",
    ]
    return ", ".join(facts)
