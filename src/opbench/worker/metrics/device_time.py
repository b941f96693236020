"""How long the device works for one call, its caches warm from the calls before.

Kernel and copy intervals come from CUPTI (see `device_work`): launch overhead and the gaps between
kernels are no part of it. Compare `host_time`, which is what a caller waits.
"""

import sys

from .. import device_work, nvml
from ..session import Unsupported
from ..watch import Watch

DESCRIBE = {
    "name": "device_time",
    "unit": "s",
    "description": "time the device works for one call, caches warm, gaps between kernels left out",
    "sampled": True,
}


def block(session, n):
    torch = torch_with_cuda(session, "device_time")
    session.run("calls", 1)
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
    return watch.sample(total / n / 1e9, n, {"source": source, **nvml.seen()})


def measured(torch, work):
    busy = device_work.busy_ns(torch, work)
    if busy is not None:
        return busy, device_work.CUPTI
    return device_work.queued_ns(torch, work), device_work.EVENTS


def torch_with_cuda(session, metric):
    torch = sys.modules.get("torch")
    if torch is None or not session.case["device"].startswith("cuda"):
        raise Unsupported("%s is the time of a CUDA device; use --device cuda" % metric)
    return torch
