"""Peak bytes the framework allocates during one call, from its own allocator, not from RSS.

On the CPU torch's profiler reports every allocation and release as an event; the peak of their
running sum is exact and repeats. On CUDA the caching allocator keeps that account itself. Where
neither exists, Python's tracemalloc is asked, to which NumPy reports as well.
"""

import sys
import tracemalloc

DESCRIBE = {
    "name": "memory",
    "unit": "bytes",
    "description": "peak bytes allocated during one call, above the lowest level held in it",
    "sampled": False,
}

#: Lazily made state (caches, grown lists) is gone after this many calls.
SETTLING_CALLS = 2
REPEATS = 3


def measure(session, _options):
    session.run("calls", SETTLING_CALLS)
    torch = sys.modules.get("torch")
    if torch is None:
        source, one_call = "tracemalloc", _tracemalloc_call
    elif session.case["device"].startswith("cuda"):
        source, one_call = "cuda caching allocator", _cuda_call
    else:
        source, one_call = "torch allocator events", _torch_cpu_call
    peaks = []
    left = 0
    for repeat in range(REPEATS + 1):
        session.run("before")
        peak, left = one_call(session, torch)
        if repeat:  # the first one's releases are of memory whose allocation was not recorded
            peaks.append(peak)
    detail = {"source": source, "left_after": left}
    components = {
        name: bytes_of(session.evaluate(expression), torch)
        for name, expression in session.case.get("components") or ()
    }
    if components:
        detail["components"] = components
    return {"results": {"memory": {"samples": peaks, "detail": detail}}}


def _torch_cpu_call(session, torch):
    with torch.autograd.profiler.profile(profile_memory=True, use_kineto=True) as profile:
        session.run("stmt")
    events = [event for event in profile.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return largest_rise(event.nbytes() for event in events)


def largest_rise(changes):
    """(most bytes held above the lowest level seen before, bytes left at the end).

    A training step first lets go of the last step's gradients. Counting from the level at its
    start would set what it then allocates off against them, as if gradients cost nothing.
    """
    held = lowest = rise = 0
    for change in changes:
        held += change
        lowest = min(lowest, held)
        rise = max(rise, held - lowest)
    return rise, held


def _cuda_call(session, torch):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    session.run("stmt")
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before


def _tracemalloc_call(session, _torch):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        session.run("stmt")
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before, after - before


def bytes_of(value, torch):
    """Bytes of the distinct storages behind a tensor, a module, or a collection of them."""
    storages = {}
    todo = [value]
    while todo:
        item = todo.pop()
        if torch is not None and isinstance(item, torch.Tensor):
            storage = item.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif torch is not None and isinstance(item, torch.nn.Module):
            todo.extend(item.parameters())
            todo.extend(item.buffers())
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, (list, tuple, set)):
            todo.extend(item)
        elif hasattr(item, "nbytes"):
            storages[id(item)] = int(item.nbytes)
    return sum(storages.values())
