"""How a collective is sampled in one start: blocks of calls, decided from the time of one."""

from __future__ import annotations

from dataclasses import dataclass

#: A block lasts so long that the barrier before it, after which ranks go on some 100 µs apart, is
#: a hundredth of it.
BLOCK_SECONDS = 0.01
MOST_CALLS = 1000
#: The median of fewer blocks is at the mercy of a single one; more than enough are a waste of time.
LEAST_BLOCKS, MOST_BLOCKS = 5, 25
#: For all blocks of one collective, in one start.
SECONDS = 0.25


@dataclass(frozen=True)
class Measured:
    """One collective in one start: seconds per call of the slowest rank in each block, or why
    there are none."""

    blocks: tuple[float, ...] = ()
    reason: str = ""


def planned(seconds: float) -> tuple[int, int]:
    """Calls per block and number of blocks, for a call that takes so long."""
    calls = min(MOST_CALLS, max(1, round(BLOCK_SECONDS / max(seconds, 1e-9))))
    blocks = int(SECONDS / (calls * max(seconds, 1e-9)))
    return calls, min(MOST_BLOCKS, max(LEAST_BLOCKS, blocks))
