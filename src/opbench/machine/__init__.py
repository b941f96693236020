"""Facts about the machine a run happens on, and which of them decide its numbers.

`machine_facts` gathers everything, as plain JSON types, in well under a tenth of a second. What
stays the same from one run to the next (`static_facts`) goes into the fingerprint that is part
of a result's key; what changes by the minute (`volatile_facts`) is stored with the run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opbench.worker.probe.facts import interpreter_facts, thread_settings

from .cpu import CpuTimes, cpu_facts, cpu_times, mhz_now, steal_share
from .gpu import gpu_facts
from .host import load_averages, memory_facts, memory_now, system_facts
from .tools import tool_facts

__all__ = [
    "CpuTimes",
    "cpu_times",
    "fingerprint",
    "interpreter_facts",
    "load_facts",
    "machine_facts",
    "static_facts",
    "steal_share",
    "thread_settings",
    "volatile_facts",
]

#: The facts of a processor that do not change.
STATIC = ("model", "revision", "architecture", "physical_cores", "logical_cores", "isa")

#: The facts of an interpreter that decide what code runs. Its path and build date do not.
INTERPRETER_IDENTITY = (
    "implementation",
    "version",
    "free_threaded",
    "packages",
    "threads",
    "kernels",
)

#: The same of an environment that was built from requirements or is a commit.
ENVIRONMENT_IDENTITY = ("commit", "installed")


def machine_facts(project: Path | None = None, since: CpuTimes | None = None) -> dict[str, Any]:
    """Everything, in sections: cpu, memory, system, load, python, tools, git, gpus, gpu_note.

    `project` is the folder whose commit is noted (default: the current one). Steal is counted
    from the reading `since`, or from boot.
    """
    return {
        "cpu": cpu_facts(),
        "memory": memory_facts(),
        "system": system_facts(),
        "load": load_facts(since),
        "python": interpreter_facts(),
        **tool_facts(project),
        **gpu_facts(),
    }


def load_facts(since: CpuTimes | None = None) -> dict[str, Any]:
    """What changes by the minute; cheap enough to read before and after every run."""
    return {
        **load_averages(),
        "steal_share": steal_share(since, cpu_times()),
        "mhz_now": mhz_now(),
        **memory_now(),
    }


def static_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the machine is: where this differs, numbers are not directly comparable.

    GPUs appear only where there are some, so that a machine without them has one identity whether
    or not NVML is installed.
    """
    cpu = facts.get("cpu") or {}
    static = {key: cpu.get(key) for key in STATIC}
    names = [gpu.get("name") for gpu in facts.get("gpus") or ()]
    return {**static, "gpus": names} if names else static


def volatile_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the machine was doing: load, steal, frequency, free memory, clocks of the devices."""
    moving = ("index", "mhz_now", "memory_mhz_now", "temperature", "busy_percent", "memory_used")
    gpus = [{key: gpu.get(key) for key in moving} for gpu in facts.get("gpus") or ()]
    load = dict(facts.get("load") or {})
    return {**load, "gpus_now": gpus} if gpus else load


def fingerprint(machine_static: Mapping[str, Any], interpreter: Mapping[str, Any]) -> str:
    """Sixteen hex digits over a machine (`static_facts`) and an interpreter (`interpreter_facts`).

    A pure function of content: key order does not matter, nor do facts outside the identity.
    """
    found = {key: interpreter.get(key) for key in INTERPRETER_IDENTITY}
    found.update({key: interpreter[key] for key in ENVIRONMENT_IDENTITY if interpreter.get(key)})
    identity = {"machine": dict(machine_static), "interpreter": found}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
