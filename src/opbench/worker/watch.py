"""What goes on beside a block while it is measured: the noise that a sample carries with it."""

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

    def sample(self, seconds, n, seen=None):
        """The answer to `block`: seconds per call, and what was seen beside them."""
        answer = {
            "value": seconds,
            "n": n,
            "wall_ns": self.wall_ns,
            "cpu_ns": self.cpu_ns,
            "switches": self.switches,
            "peak_bytes": peak_bytes(),
            "device_bytes": device_bytes(),
        }
        if seen:
            answer["seen"] = seen
        return answer
