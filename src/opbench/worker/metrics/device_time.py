"""How long the device works for one call, its caches warm from the calls before.

Kernel and copy intervals come from CUPTI (see `device_work`): launch overhead and the gaps between
kernels are not part of it. Compare `host_time`, which is what a caller waits.
"""

import sys
import time

from ..cuda import device_work, nvml
from ..session import Unsupported
from ..watch import Watch

DESCRIBE = {
    "name": "device_time",
    "unit": "s",
    "description": "time the device works for one call, caches warm, gaps between kernels left out",
    "sampled": True,
    "measured_with": "host_time",
}

#: Recurrent layers launch ten thousand kernels per call, and each is an event to be read back: a
#: tenth of a second of them is enough.
BLOCK_SECONDS = 0.1


def block(session, n):
    torch = torch_with_cuda(session, "device_time")
    device_work.wake(session)
    began = time.perf_counter()
    session.run("calls", 1)
    n = enough(n, time.perf_counter() - began)
    with Watch() as watch:
        if session.case["way"] == "repeatable":
            total, source = measured(torch, lambda: session.run("stmt", n))
        else:
            total, source = 0, device_work.CUPTI
            for _ in range(n):
                session.run("before")
                torch.cuda.synchronize()
                spent, source = measured(torch, lambda: session.run("stmt", 1))
                total += spent
    gpu = {"source": source, **nvml.readings()}
    device_work.release(torch)
    return watch.sample(total / n / 1e9, n, gpu)


def enough(n, call_seconds):
    """At most `n` calls, as many as fit the time of a block, but at least one."""
    return max(1, min(n, int(BLOCK_SECONDS / call_seconds)))


def measured(torch, work):
    busy = device_work.busy_ns(torch, work)
    if busy is not None:
        return busy, device_work.CUPTI
    return device_work.queued_ns(torch, work), device_work.EVENTS


def torch_with_cuda(session, metric):
    if not session.case["device"].startswith("cuda"):
        raise Unsupported("%s measures a CUDA device; use --device cuda" % metric)
    torch = sys.modules.get("torch")
    if torch is None:
        raise Unsupported("%s is measured through torch, which this case does not use" % metric)
    return torch
