"""When is a case warm? A pure rule over (calls, seconds) pairs, tested without a clock."""

#: The time per call has settled when it no longer falls: the best of the last blocks is less than
#: this much better than the best of as many before them. The best, because noise only adds.
RECENT_BLOCKS = 3
FALL = 0.03

#: A specialising interpreter needs some calls before it runs its final code.
MIN_CALLS = 16

#: A case that is all noise (an empty statement) must not double its block for ever.
LARGEST_BLOCK = 1 << 24


class WarmUp:
    """Feed it blocks with `add`; `n` is the size of the next one, `done` says when to stop.

    The block size doubles until a block lasts about half of `block_seconds`; blocks then repeat
    until the time has settled or `seconds` are spent. A slow call runs at least twice, so that the
    first call, which loads and compiles, is never taken for a typical one. Nor is its time part of
    those seconds: after a compiler had spent them, blocks began with the second call, and the first
    few of them paid for the pages of fresh results (a JAX operator took 2 ms in these, and 0.4 ms
    in the others).

    Without any seconds a slow call runs once: the caller knows what it takes.
    """

    def __init__(self, seconds, block_seconds):
        self.seconds = seconds
        self.block_seconds = block_seconds
        self.n = 1
        self.calls = 0
        self.spent = 0.0
        self.first = None
        self.settled = False
        self.done = False
        self._recent = []

    @property
    def per_call(self):
        return min(self._recent[-RECENT_BLOCKS:]) if self._recent else self.first

    @property
    def block_size(self):
        if not self.per_call:
            return self.n
        return max(1, int(self.block_seconds / self.per_call))

    def add(self, n, seconds):
        self.calls += n
        if self.first is None:
            self.first = seconds / n
            if seconds >= self.block_seconds:
                self.done = self.seconds <= 0
                return
        self.spent += seconds
        self._recent.append(seconds / n)
        if seconds < self.block_seconds / 2 and self.n < LARGEST_BLOCK:
            self._recent = self._recent[-1:]
            self.n *= 2
        else:
            self.settled = self.calls >= MIN_CALLS and self._no_longer_falls()
        self.done = self.settled or self.spent >= self.seconds

    def _no_longer_falls(self):
        before = self._recent[-2 * RECENT_BLOCKS : -RECENT_BLOCKS]
        last = self._recent[-RECENT_BLOCKS:]
        return len(before) == RECENT_BLOCKS and min(last) >= min(before) * (1 - FALL)
