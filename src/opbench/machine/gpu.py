"""GPUs, through NVML alone.

Using torch would initialise CUDA in a process that later forks workers, whose children could then
not use the device; NVML reads the driver and leaves no trace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def gpu_facts() -> dict[str, Any]:
    """`gpus`, the facts of each, and `gpu_note`, why the list is empty if it is."""
    try:
        import pynvml as nvml
    except ImportError:
        return {"gpus": [], "gpu_note": "nvidia-ml-py is not installed"}
    try:
        nvml.nvmlInit()
    except Exception as error:  # no driver, no permission, or versions that do not match
        return {"gpus": [], "gpu_note": str(error)}
    try:
        count = nvml.nvmlDeviceGetCount()
        driver = _call(nvml.nvmlSystemGetDriverVersion)
        gpus = [_gpu(nvml, index, driver) for index in range(count)]
        return {"gpus": gpus, "gpu_note": "" if gpus else "the driver lists no device"}
    except Exception as error:  # the driver may go away between two calls
        return {"gpus": [], "gpu_note": str(error)}
    finally:
        _call(nvml.nvmlShutdown)


def _gpu(nvml: Any, index: int, driver: str | None) -> dict[str, Any]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = _call(nvml.nvmlDeviceGetMemoryInfo, handle)
    persistence = _call(nvml.nvmlDeviceGetPersistenceMode, handle)
    milliwatts = _call(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    processes = _call(nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    utilization = _call(nvml.nvmlDeviceGetUtilizationRates, handle)
    return {
        "index": index,
        "name": _call(nvml.nvmlDeviceGetName, handle),
        "driver": driver,
        "memory": memory.total if memory else None,
        "memory_used": memory.used if memory else None,
        "mhz_now": _call(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        "mhz_max": _call(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        "memory_mhz_now": _call(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "memory_mhz_max": _call(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "temperature": _call(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        "power_limit_watts": None if milliwatts is None else milliwatts / 1000,
        "persistence": None if persistence is None else bool(persistence),
        "busy_percent": utilization.gpu if utilization else None,
        "processes": None if processes is None else len(processes),
    }


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, None when this GPU or driver does not support it: many are optional."""
    try:
        answer = function(*arguments)
    except Exception:
        return None
    return answer.decode() if isinstance(answer, bytes) else answer


def visible_gpus(environ: Mapping[str, str] = os.environ) -> tuple[int, str]:
    """How many GPUs a CUDA program started here would find, and why none, if so.

    Without NVML nothing is known, and the program finds out by itself: then -1.
    """
    facts = gpu_facts()
    cards = len(facts["gpus"])
    if not cards:
        if not find_spec("pynvml"):
            return -1, ""
        return 0, f"the driver reports: {facts['gpu_note']}"
    listed = environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return cards, ""
    seen = visible(listed, cards)
    return seen, "" if seen else f"CUDA_VISIBLE_DEVICES={listed!r} hides them all"


def default_device() -> str:
    """`cuda` where there are a GPU and a torch that was built for it, neither of which is woken."""
    found = find_spec("torch")
    places = list(found.submodule_search_locations or ()) if found else []
    built = any(list(Path(place).glob("lib/libtorch_cuda*")) for place in places)
    return "cuda" if built and visible_gpus()[0] > 0 else "cpu"


def visible(listed: str, cards: int) -> int:
    """How many of the cards a value of CUDA_VISIBLE_DEVICES leaves: what follows an index that
    does not exist is ignored, as CUDA does."""
    seen = 0
    for each in filter(None, listed.split(",")):
        number = each.strip()
        if number.lstrip("-").isdigit() and not 0 <= int(number) < cards:
            break
        seen += 1
    return seen
