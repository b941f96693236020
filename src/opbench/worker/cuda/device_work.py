"""How long the device works: the union of its kernels' and copies' intervals, as CUPTI saw them.

Events around a loop of calls measure the launching thread as soon as it is slower than the device,
so they are not used where CUPTI answers. Where it does not (no permission, another tool attached),
the calls are queued behind a kernel that spins until the host has got ahead, with events around
them; the source of a number is always told with it.
"""

import time

CUPTI = "cupti kernel intervals"
EVENTS = "cuda events behind a spinning kernel"
#: Cycles per nanosecond of the fastest GPUs: the spinning kernel should rather be too long.
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
    """What CUPTI saw on the device during `work()`; nothing where there is no CUPTI."""
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
    """Ranges that code marks for itself span the gaps between kernels as well."""
    asked = getattr(event, "is_user_annotation", None)
    return bool(asked and asked())


def union(spans):
    """Total length of the intervals, what overlaps counted once."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total += end - begin
            reached = end
        elif end > reached:
            total += end - reached
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


#: Of a child that has just been woken, driver, interpreter and caches are cold: the first calls of
#: launch-bound code took half as long again, and one untimed call did not mend that.
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
    """Give cached memory back: a paused child must not sit on what its neighbours need."""
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
        """The number by which CUPTI knows the stream: seen by flushing once under its eyes."""
        streams = {event.device_resource_id() for event in device_events(self.torch, self)}
        return streams.pop() if len(streams) == 1 else None
