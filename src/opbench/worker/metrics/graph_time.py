"""How long one call takes inside a CUDA graph: its kernels and the gaps between them, no launches.

The call is captured into a graph several times over, and the graph replayed between two events.
Between `device_time` (no gaps) and `host_time` (launches, Python), this is what a program gets that
captures its step.
"""

import time

from ..cuda import device_work, nvml
from ..session import Unsupported
from ..watch import Watch
from .device_time import torch_with_cuda

DESCRIBE = {
    "unit": "s",
    "description": "time of one call replayed in a CUDA graph: the device's work and its gaps",
    "sampled": True,
    "device": "cuda",
}

#: Calls in one graph, so that starting it is a small part of its time; and at most so many seconds
#: of them, as capturing takes as long as launching. How closely kernels follow each other depends
#: on the size of the graph: on an H200 the smallest take 0.95 µs in a graph of a hundred, 0.95 or
#: 1.12 in one of a thousand, 1.28 in one of forty thousand. A training step has about a thousand.
CALLS, CAPTURE_SECONDS = 1000, 0.5
#: A graph is replayed for about this long in one block.
BLOCK_SECONDS = 0.01

_graphs: dict = {}


def block(session, n):
    torch = torch_with_cuda(session, "graph_time")
    if session.case["way"] != "repeatable":
        raise Unsupported("a graph of this stage would also hold the preparation of each call")
    if session.prepared not in _graphs:
        _graphs.clear()
        _graphs[session.prepared] = captured(torch, session)
    graph, calls, seconds = _graphs[session.prepared]
    replays = max(1, int(BLOCK_SECONDS / seconds))
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    torch.cuda.synchronize()
    with Watch(session.case.get("threads")) as watch:
        first.record()
        for _ in range(replays):
            graph.replay()
        last.record()
        torch.cuda.synchronize()
    n = replays * calls
    return watch.sample(first.elapsed_time(last) / 1e3 / n, n, nvml.readings())


def captured(torch, session):
    """(graph, calls in it, seconds of one replay)"""
    began = time.perf_counter()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        session.run("calls", 3)  # libraries set themselves up at the first calls of a stream
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    took = (time.perf_counter() - began) / 3
    calls = max(1, min(CALLS, int(CAPTURE_SECONDS / took)))
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            session.run("launch", calls)
    except RuntimeError as error:
        raise Unsupported("a CUDA graph cannot hold this call: %s" % headline(error)) from None
    graph.replay()
    torch.cuda.synchronize()
    began = time.perf_counter()
    graph.replay()
    torch.cuda.synchronize()
    device_work.worked()
    return graph, calls, max(time.perf_counter() - began, 1e-6)


def headline(error):
    return str(error).strip().splitlines()[0]
