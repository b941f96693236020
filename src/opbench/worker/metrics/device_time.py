"""How long the device works for one call, its caches warm from the calls before.

Kernel and copy intervals come from CUPTI (see `device_work`): launch overhead and the gaps between
kernels are not part of it. A call that launches nothing takes no time. Compare `host_time`, which
is what a caller waits.
"""

import sys
import time

from ..cuda import device_work, nvml
from ..session import Unsupported
from ..watch import Watch

DESCRIBE = {
    "unit": "s",
    "description": "time the device works for one call, caches warm, gaps between kernels left out",
    "sampled": True,
    "device": "cuda",
    "measured_with": "host_time",
}

#: Recurrent layers launch ten thousand kernels per call, and each is an event to be read back: a
#: tenth of a second of them is enough.
BLOCK_SECONDS = 0.1


def block(session, n):
    check_cuda(session, "device_time")
    before = None
    if session.case["way"] != "repeatable":
        before = lambda: session.run("before")  # noqa: E731
    return measured(session, n, before)


def measured(session, n, before):
    device_work.wake(session)
    began = time.perf_counter()
    session.run("calls", 1)
    n = enough(n, time.perf_counter() - began)
    with Watch(session.case.get("threads")) as watch:
        total, source = device_work.busy_ns(session, n, before)
    gpu = {"source": source, **nvml.readings()}
    device_work.release()
    return watch.sample(total / n / 1e9, n, gpu)


def enough(n, call_seconds):
    """At most `n` calls, as many as fit the time of a block, but at least one."""
    return max(1, min(n, int(BLOCK_SECONDS / call_seconds)))


def check_cuda(session, metric):
    if not session.case["device"].startswith("cuda"):
        raise Unsupported("%s measures a CUDA device; use --device cuda" % metric)


def torch_with_cuda(session, metric):
    check_cuda(session, metric)
    torch = sys.modules.get("torch")
    if torch is None:
        raise Unsupported("%s is measured through torch, which this case does not use" % metric)
    return torch
