"""How much the pool may hold, and for how long."""

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


def available():
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0
