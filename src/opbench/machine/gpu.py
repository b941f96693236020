"""GPUs, through NVML alone.

Using torch would initialise CUDA in a process that later forks workers, whose children could then
not use the device; NVML reads the driver and leaves no trace.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import metadata
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


def default_device() -> str:
    """`cuda` where there is a GPU and a torch that can use it, else `cpu`."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return "cpu"
    try:
        usable = not metadata.version("torch").endswith("+cpu")
    except metadata.PackageNotFoundError:
        usable = False
    return "cuda" if usable and gpu_facts()["gpus"] else "cpu"


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
