"""What the caller waits: wall-clock time per call, the device's work included.

A block is `n` calls back to back and one wait for the device at its end, so on CUDA the value is
the larger of what it takes to launch a call and what it takes to execute one. On the CPU it is
`time` under another name.
"""

from ..cuda import device_work, nvml
from . import time as wall

DESCRIBE = {
    "unit": "s",
    "description": "wall-clock time the caller waits for one call, the device's work included",
    "sampled": True,
}


def block(session, n):
    on_cuda = session.case["device"].startswith("cuda")
    if on_cuda:
        device_work.wake(session)
    answer = wall.block(session, n)
    if on_cuda:
        answer["seen"] = nvml.readings()
        device_work.release()
    return answer
