"""How long the device works: the union of the intervals of its kernels and copies, from CUPTI.

Events around a loop of calls measure the launching thread as soon as it is slower than the device,
so they are used only where CUPTI is not available (no permission, another tool attached). The
calls are then queued behind a kernel that spins until the host has got ahead, with events around
them; every number comes with its source.
"""

import time

CUPTI = "cupti kernel intervals"
EVENTS = "cuda events behind a spinning kernel"
#: Cycles per nanosecond of the fastest GPUs: the spinning kernel may be too long, never too short.
CYCLES_PER_NS = 2.0


def busy_ns(torch, work, skip_stream=None):
    """Nanoseconds in which any kernel or copy of `work()` ran; None when CUPTI saw none."""
    spans = [
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in device_events(torch, work)
        if skip_stream is None or event.device_resource_id() != skip_stream
    ]
    return union(spans) if spans else None


def device_events(torch, work):
    """CUPTI's events on the device during `work()`; empty without CUPTI."""
    try:
        profile = torch.autograd.profiler.profile(use_device="cuda", use_kineto=True, use_cpu=False)
    except (AssertionError, RuntimeError):  # torch was built, or is run, without it
        return []
    with profile:
        work()
        torch.cuda.synchronize()
    cuda = torch.autograd.DeviceType.CUDA
    return [
        event
        for event in profile.kineto_results.events()
        if event.device_type() == cuda and not _annotation(event)
    ]


def _annotation(event):
    """Ranges annotated by user code also span the gaps between kernels."""
    is_annotation = getattr(event, "is_user_annotation", None)
    return bool(is_annotation and is_annotation())


def union(spans):
    """Total length of the intervals, overlaps counted once."""
    total, reached = 0, float("-inf")
    for begin, end in sorted(spans):
        if end > reached:
            total += end - max(begin, reached)
            reached = end
    return total


def queued_ns(torch, work):
    """Device time of `work()` from events, with the device held back while the host launches."""
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    work()
    launching = time.perf_counter_ns() - began
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(int(launching * CYCLES_PER_NS))
    first.record()
    work()
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last) * 1e6


#: In a child that was just resumed, driver, interpreter and caches are cold: the first calls of
#: launch-bound code took half as long again, and one untimed call did not help.
WAKE_SECONDS = 0.05
#: A child that worked this recently is still warm.
RECENTLY = 0.02
_last = {"worked": 0.0}


def wake(session):
    """Untimed calls until host and device run as they do in the middle of a program."""
    began = time.perf_counter()
    if began - _last["worked"] < RECENTLY:
        return
    while time.perf_counter() - began < WAKE_SECONDS:
        session.run("calls", 1)


def release(torch):
    """Free cached memory: a paused child must not hold what its neighbours need."""
    if torch is not None:
        torch.cuda.empty_cache()
    _last["worked"] = time.perf_counter()


class Flush:
    """Empties the L2 cache by writing four times its size, on a stream of its own."""

    def __init__(self, torch):
        self.torch = torch
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        size = 4 * (getattr(properties, "L2_cache_size", 0) or 64 << 20)
        self.stream = torch.cuda.Stream()
        self.buffer = torch.empty(size, dtype=torch.uint8, device="cuda")

    def __call__(self):
        with self.torch.cuda.stream(self.stream):
            self.buffer.zero_()
        self.torch.cuda.synchronize()

    def own_stream(self):
        """CUPTI's number of the stream, found by profiling one flush."""
        streams = {event.device_resource_id() for event in device_events(self.torch, self)}
        return streams.pop() if len(streams) == 1 else None
