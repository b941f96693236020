"""How long it takes to compile what a call runs, apart from running it.

A compiler that runs during the first call (torch.compile, jax.jit) is timed by that call, less an
ordinary one; a runtime that builds a session in advance, by building another. Caches on disk are
not used: this is what a first user waits for.
"""

import sys
import time

from ..session import Unsupported

DESCRIBE = {
    "unit": "s",
    "description": "time to compile what one call runs: the first call less an ordinary one",
    "sampled": False,
}

#: Ordinary calls, of which the fastest counts.
CALLS = 3
#: Sessions built, of which the fastest counts.
SESSIONS = 3


def measure(session, _options):
    build = session.case["framework"] == "onnxruntime" and session.evaluate("make_session")
    if build:
        return result([seconds(build) for _ in range(SESSIONS)], "session built again each time")
    if session.case["framework"] not in ("jax", "torch_compile"):
        raise Unsupported("%s does not compile" % session.case["framework"])
    inductor = sys.modules.get("torch._inductor.config")
    if inductor is not None:
        setattr(inductor, "force_disable_caches", True)  # noqa: B010
    first = seconds(lambda: session.run("calls", 1))
    ordinary = min(seconds(lambda: session.run("calls", 1)) for _ in range(CALLS))
    return result([max(0.0, first - ordinary)], "first call less an ordinary one")


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def result(samples, source):
    return {"results": {"compile_time": {"samples": samples, "detail": {"source": source}}}}
