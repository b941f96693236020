"""Where the numbers of a run are from, as lines of text at the head of a file."""

from __future__ import annotations

from typing import Any

from opbench.store.facts import section
from opbench.store.records import RunRecord

#: Those that decide the numbers.
PACKAGES = ("torch", "opacus", "numpy")


def environment_lines(run: RunRecord) -> list[str]:
    """Where the numbers of a run are from, one fact per line."""
    machine = run.machine
    cpu, python = section(machine, "cpu"), section(machine, "python")
    memory = section(machine, "memory").get("total")
    gibibytes = memory / 2**30 if isinstance(memory, (int, float)) else 0
    listed = machine.get("gpus")
    gpus = [gpu for gpu in listed if isinstance(gpu, dict)] if isinstance(listed, list) else []
    packages = section(python, "packages")
    policy = " ".join(f"{key}={value}" for key, value in run.policy.items())
    return [
        f"run: {run.id}, opbench {run.version}" + (f", commit {run.commit}" if run.commit else ""),
        f"command: {run.command}",
        f"cpu: {cpu.get('model')}, {cpu.get('logical_cores')} cores, {gibibytes:.0f} GiB",
        *(f"gpu: {_gpu(gpu)}" for gpu in gpus),
        f"python: {python.get('version')}; "
        + ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages),
        f"system: {section(machine, 'system').get('os')}, "
        f"kernel {section(machine, 'system').get('kernel')}",
        f"load at the beginning: {section(machine, 'load').get('load_1m')}",
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
