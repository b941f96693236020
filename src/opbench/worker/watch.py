"""What is observed while a block runs: wall and CPU time, context switches, waiting for a core."""

import time

from .usage import (
    cores,
    cpu_ns,
    device_bytes,
    involuntary_switches,
    peak_bytes,
    queued_ns,
    voluntary_switches,
)


class Watch:
    def __init__(self, threads=None):
        """`threads` are how many compute at a time, at most; None for one on each core."""
        self._threads = min(threads or cores(), cores())

    def __enter__(self):
        self._queued = queued_ns()
        self._waits = voluntary_switches()
        self._switches = involuntary_switches()
        self._cpu = cpu_ns()
        self._began = time.perf_counter_ns()
        return self

    def __exit__(self, *_error):
        self.wall_ns = time.perf_counter_ns() - self._began
        self.cpu_ns = cpu_ns() - self._cpu
        self.switches = involuntary_switches() - self._switches
        queued = queued_ns() - self._queued if self.switches else 0
        if self.switches and voluntary_switches() == self._waits:
            # Who never waits of its own accord waits for others all the time that it does not run,
            # also where only the host of a virtual machine knows why.
            queued = max(queued, self.wall_ns - self.cpu_ns)
        self.queued_ns = behind_others(queued, self.wall_ns, self.cpu_ns, self._threads)

    def sample(self, seconds, n, gpu=None):
        """The answer to `block`: seconds per call, and what was observed meanwhile."""
        answer = {
            "value": seconds,
            "n": n,
            "wall_ns": self.wall_ns,
            "cpu_ns": self.cpu_ns,
            "switches": self.switches,
            "queued_ns": self.queued_ns,
            "peak_bytes": peak_bytes(),
            "device_bytes": device_bytes(),
        }
        if gpu:
            answer["seen"] = gpu
        return answer


def behind_others(queued, wall, cpu, threads):
    """Of the time that threads waited for a core, what the process did not use of those it has
    work for. Where it has more threads than cores, they wait for each other; so do a caller and
    the thread of an engine, of which one computes at a time."""
    return max(0, min(queued, threads * wall - cpu))
