"""CUDA events around a loop of calls: launch-bound where the host is the slower side."""

from ..cuda import device_work, nvml
from ..session import Unsupported
from ..watch import Watch
from .device_time import torch_with_cuda

DESCRIBE = {
    "unit": "s",
    "description": "time of one call between two CUDA events around a loop of calls",
    "sampled": True,
    "device": "cuda",
}


def block(session, n):
    torch = torch_with_cuda(session, "time_cuda")
    if session.case["way"] != "repeatable":
        raise Unsupported("events around the loop would also time the preparation of this stage")
    device_work.wake(session)
    session.run("calls", 1)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with Watch(session.case.get("threads")) as watch:
        torch.cuda.synchronize()
        first.record()
        session.timed("time", n)
        last.record()
        torch.cuda.synchronize()
    return watch.sample(first.elapsed_time(last) / 1e3 / n, n, nvml.readings())
