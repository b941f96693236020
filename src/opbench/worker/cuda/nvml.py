"""Clocks, power and temperature of the GPU, from NVML through ctypes: no package is needed.

Without the driver's library every reading is empty.
"""

import ctypes
import sys
from typing import Any

_SM, _MEMORY, _CELSIUS = 1, 2, 0
_state: dict = {}


def readings():
    """`{"sm_mhz": 1980, "memory_mhz": 3201, "watts": 312.4, "celsius": 41}`, as far as known."""
    if "handle" not in _state:
        _state["handle"] = _open()
    handle = _state["handle"]
    if handle is None:
        return {}
    found = {
        "sm_mhz": _number("nvmlDeviceGetClockInfo", handle, _SM),
        "memory_mhz": _number("nvmlDeviceGetClockInfo", handle, _MEMORY),
        "celsius": _number("nvmlDeviceGetTemperature", handle, _CELSIUS),
    }
    milliwatts = _number("nvmlDeviceGetPowerUsage", handle)
    found["watts"] = None if milliwatts is None else milliwatts / 1000
    return {name: value for name, value in found.items() if value is not None}


def _open():
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    _state["library"] = library
    if library.nvmlInit_v2():
        return None
    handle = ctypes.c_void_p()
    uuid = _uuid()
    # By UUID: NVML does not know how CUDA_VISIBLE_DEVICES renumbers the GPUs.
    if uuid and not library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)):
        return handle
    if library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)):
        return None
    return handle


def _uuid():
    torch: Any = sys.modules.get("torch")
    try:
        found = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    except (AttributeError, RuntimeError, AssertionError):
        return ""
    return found if found.startswith("GPU-") else "GPU-" + found


def _number(name, *arguments):
    value = ctypes.c_uint()
    if getattr(_state["library"], name)(*arguments, ctypes.byref(value)):
        return None
    return value.value
