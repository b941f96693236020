"""Was a block disturbed by other programs? A pure rule over what was counted beside it.

A disturbed block waits: its wall time exceeds its CPU time by more than is usual for the case
(a case that sleeps or waits for a device does so in every block), and the scheduler says that it
was pushed aside. The comparison is with the calmest blocks of the same session, never with a
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: A block is disturbed when it waited this much more, as a share of its wall time, than the calm
#: blocks of its session. 5 % is far above clock granularity in a 2 ms block, and below anything
#: that would be worth reporting as a regression.
EXTRA_WAIT = 0.05


@dataclass(frozen=True)
class BlockNoise:
    wall_ns: int
    cpu_ns: int
    switches: int


def contended(blocks: Sequence[BlockNoise]) -> list[bool]:
    """For each block of one session, whether it was disturbed."""
    if not blocks:
        return []
    waits = [_waited(block) for block in blocks]
    calm = sorted(waits)[len(waits) // 4]
    return [
        wait > calm + EXTRA_WAIT and block.switches > 0
        for wait, block in zip(waits, blocks, strict=True)
    ]


def _waited(block: BlockNoise) -> float:
    """Share of the wall time in which not even one thread of the process ran."""
    return max(0.0, 1 - block.cpu_ns / block.wall_ns) if block.wall_ns else 0.0
