"""When is a case warm? A pure rule over (calls, seconds) pairs, tested without a clock."""

#: The time per call has settled when the last blocks agree this closely. Three blocks, because two
#: agree by chance; 3 %, because that is about twice the block-to-block noise of a quiet machine.
AGREEING_BLOCKS = 3
AGREEMENT = 0.03

#: A specialising interpreter needs some calls before it runs its final code.
MIN_CALLS = 16


class WarmUp:
    """Feed it blocks with `add`; it says how large the next one is and when to stop.

    The block grows by doubling until it lasts about half of `block_seconds`, then repeats until it
    has settled or `seconds` are spent. A call that alone takes longer than that is called twice,
    so that the first call, which loads and compiles, is never taken for the typical one.
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
        return min(self._recent[-AGREEING_BLOCKS:]) if self._recent else self.first

    @property
    def block_size(self):
        if not self.per_call:
            return self.n
        return max(1, int(self.block_seconds / self.per_call))

    def add(self, n, seconds):
        self.calls += n
        self.spent += seconds
        if self.first is None:
            self.first = seconds / n
            if seconds >= self.seconds / 2:
                # One slow call. A second tells whether slowness was only the first one's.
                return
        self._recent.append(seconds / n)
        if seconds < self.block_seconds / 2 and self.n < 1 << 24:
            self._recent = self._recent[-1:]
            self.n *= 2
        else:
            last = self._recent[-AGREEING_BLOCKS:]
            self.settled = (len(last) == AGREEING_BLOCKS and self.calls >= MIN_CALLS
                            and max(last) <= min(last) * (1 + AGREEMENT))
        self.done = self.settled or (self.spent >= self.seconds and len(self._recent) > 0)
