"""What is observed while a block runs: CPU time, wall time and context switches."""

import time

from .session import cpu_ns, device_bytes, involuntary_switches, peak_bytes


class Watch:
    def __enter__(self):
        self._switches = involuntary_switches()
        self._cpu = cpu_ns()
        self._began = time.perf_counter_ns()
        return self

    def __exit__(self, *_error):
        self.wall_ns = time.perf_counter_ns() - self._began
        self.cpu_ns = cpu_ns() - self._cpu
        self.switches = involuntary_switches() - self._switches

    def sample(self, seconds, n, gpu=None):
        """The answer to `block`: seconds per call, and what was observed meanwhile."""
        answer = {
            "value": seconds,
            "n": n,
            "wall_ns": self.wall_ns,
            "cpu_ns": self.cpu_ns,
            "switches": self.switches,
            "peak_bytes": peak_bytes(),
            "device_bytes": device_bytes(),
        }
        if gpu:
            answer["seen"] = gpu
        return answer
