"""Clocks, power and temperature of the GPU, from NVML through ctypes: no package is needed.

Without the driver's library every reading is empty.
"""

import ctypes
import sys
from typing import Any

_SM, _MEMORY, _CELSIUS = 1, 2, 0
#: Bits of the clock event reasons that slow a GPU down; idleness and clocks that were set do not.
POWER_CAP = 0x4
HELD_BACK = {
    POWER_CAP: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal slowdown",
    0x40: "thermal slowdown of the hardware",
    0x80: "power brake",
}
_state: dict = {}


def readings():
    """`{"sm_mhz": 1980, "memory_mhz": 3201, "watts": 312.4, "celsius": 41}`, as far as known, and
    `"throttled": "power cap"` where the GPU is held back."""
    handle = _handle()
    if handle is None:
        return {}
    found = {
        "sm_mhz": _number("nvmlDeviceGetClockInfo", handle, _SM),
        "memory_mhz": _number("nvmlDeviceGetClockInfo", handle, _MEMORY),
        "celsius": _number("nvmlDeviceGetTemperature", handle, _CELSIUS),
    }
    milliwatts = _number("nvmlDeviceGetPowerUsage", handle)
    found["watts"] = None if milliwatts is None else milliwatts / 1000
    found.update(_held_back(handle))
    return {name: value for name, value in found.items() if value is not None}


def energy():
    """Joules since the driver was loaded; None where the GPU does not count them."""
    handle = _handle()
    if handle is None:
        return None
    millijoules = _number("nvmlDeviceGetTotalEnergyConsumption", handle, kind=ctypes.c_ulonglong)
    return None if millijoules is None else millijoules / 1000


def _held_back(handle):
    """`throttled`, why the clock is lower than it could be, in words; and `slowdown` where that is
    not the power cap, under which large kernels always run."""
    reasons = _number("nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=ctypes.c_ulonglong)
    words = [word for bit, word in HELD_BACK.items() if (reasons or 0) & bit]
    if not words:
        return {}
    return {"throttled": ", ".join(words), "slowdown": words != [HELD_BACK[POWER_CAP]] or None}


def _handle():
    if "handle" not in _state:
        _state["handle"] = _open()
    return _state["handle"]


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


def _number(name, *arguments, kind=ctypes.c_uint):
    value = kind()
    function = getattr(_state["library"], name, None)
    if function is None or function(*arguments, ctypes.byref(value)):
        return None
    return value.value
