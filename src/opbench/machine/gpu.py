"""Graphics processors, through NVML alone.

Asking torch would initialise CUDA in a process that later forks workers, and children of such a
process cannot use the device; NVML reads the driver and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def gpu_facts() -> dict[str, Any]:
    """`gpus`, a list of what each one is, and `gpu_note`, why the list is empty when it is."""
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
        driver = _ask(nvml.nvmlSystemGetDriverVersion)
        gpus = [_one(nvml, index, driver) for index in range(count)]
        return {"gpus": gpus, "gpu_note": "" if gpus else "the driver lists no device"}
    except Exception as error:  # the driver may go away between two calls
        return {"gpus": [], "gpu_note": str(error)}
    finally:
        _ask(nvml.nvmlShutdown)


def _one(nvml: Any, index: int, driver: str | None) -> dict[str, Any]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = _ask(nvml.nvmlDeviceGetMemoryInfo, handle)
    persistence = _ask(nvml.nvmlDeviceGetPersistenceMode, handle)
    milliwatts = _ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    processes = _ask(nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    utilization = _ask(nvml.nvmlDeviceGetUtilizationRates, handle)
    return {
        "index": index,
        "name": _ask(nvml.nvmlDeviceGetName, handle),
        "driver": driver,
        "memory": memory.total if memory else None,
        "memory_used": memory.used if memory else None,
        "mhz_now": _ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        "mhz_max": _ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        "memory_mhz_now": _ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "memory_mhz_max": _ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "temperature": _ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        "power_limit_watts": None if milliwatts is None else milliwatts / 1000,
        "persistence": None if persistence is None else bool(persistence),
        "busy_percent": utilization.gpu if utilization else None,
        "processes": None if processes is None else len(processes),
    }


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, None when this card or driver does not give it: many are optional."""
    try:
        answer = question(*arguments)
    except Exception:
        return None
    return answer.decode() if isinstance(answer, bytes) else answer
