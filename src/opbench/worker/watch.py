"""What is observed while a block runs: wall and CPU time, context switches, waiting for a core."""

import time

from .session import cores, cpu_ns, device_bytes, involuntary_switches, peak_bytes, queued_ns


class Watch:
    def __enter__(self):
        self._queued = queued_ns()
        self._switches = involuntary_switches()
        self._cpu = cpu_ns()
        self._began = time.perf_counter_ns()
        return self

    def __exit__(self, *_error):
        self.wall_ns = time.perf_counter_ns() - self._began
        self.cpu_ns = cpu_ns() - self._cpu
        self.switches = involuntary_switches() - self._switches
        self.queued_ns = self._queued_behind_others() if self.switches else 0

    def _queued_behind_others(self):
        """How long threads waited for cores that this process did not use: where it has more
        threads than there are cores, they wait for each other."""
        others = cores() * self.wall_ns - self.cpu_ns
        return max(0, min(queued_ns() - self._queued, others))

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
