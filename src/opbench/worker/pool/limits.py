"""How much the pool may hold, and for how long."""

import os

#: Two kinds of workers, twelve of each: as many starts as a case gets unless more are asked for.
COUNT = 24
#: Idle for longer than this, a start is ended, and the supervisor after the last of them.
IDLE_SECONDS = 600.0
#: Starts hold no more than this share of the memory that would be free without them.
MEMORY_SHARE = 0.25


class Limits:
    def __init__(self, count=COUNT, idle=IDLE_SECONDS, memory=0):
        self.count, self.idle = count, idle
        self._memory = memory

    def memory(self, held):
        """Bytes that all starts may hold together, of which they hold so many now."""
        return self._memory or MEMORY_SHARE * (available() + held)


def available(root="/"):
    """Bytes that are free on the machine, or in the narrowest control group around this process."""
    free = [left for left in group_memory(root) if left is not None]
    try:
        with open(os.path.join(root, "proc/meminfo")) as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    free.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError):
        pass
    return max(0, min(free, default=0))


#: Of a control group: its limit and what it holds, in both versions.
FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def group_memory(root):
    """What is left in each control group that limits memory; None where it does not."""
    try:
        with open(os.path.join(root, "proc/self/cgroup")) as text:
            lines = text.read().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        below = os.path.join(root, "sys/fs/cgroup", "memory" if controllers else "")
        limit, held = FILES[1 if controllers else 0]
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts), -1, -1):
            group = os.path.join(below, *parts[:depth])
            most, now = number(os.path.join(group, limit)), number(os.path.join(group, held))
            yield None if most is None or now is None else most - now


def number(path):
    try:
        with open(path) as text:
            return int(text.read())
    except (OSError, ValueError):  # not there, or the word "max"
        return None
