"""Was a block disturbed by other programs, and which blocks count? Pure rules over the counters.

A disturbed block waits: its wall time exceeds its CPU time, or its threads waited for a core, by
more than is usual for the case (a case that sleeps or waits for a device does so in every block),
and the scheduler reports that it was preempted. The comparison is with the quietest blocks of the
same session, never with a constant. Where other programs run all the time no block is quiet: then a
share of all blocks that waited long and were preempted shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

#: A block is disturbed when it waited this much more, as a share of its wall time, than the quiet
#: blocks of its session. 5 % is far above clock granularity in a 2 ms block, and below anything
#: that would be worth reporting as a regression.
EXTRA_WAIT = 0.05

#: Of its wall time: what a block waits for a core that it shares with another program.
CROWDED_WAIT = 0.2

#: Above this share of disturbed blocks a result says more about the machine than about the case:
#: those that were not preempted ran beside other programs as well.
CONTENDED_SHARE = 0.25


class Block(Protocol):
    """A sample, as far as statistics look at it."""

    @property
    def value(self) -> float: ...
    @property
    def start(self) -> int: ...
    @property
    def session(self) -> int: ...
    @property
    def wall_ns(self) -> int: ...
    @property
    def cpu_ns(self) -> int: ...
    @property
    def switches(self) -> int: ...
    @property
    def contended(self) -> bool: ...
    @property
    def queued_ns(self) -> int: ...


B = TypeVar("B", bound=Block)


def contended(blocks: Sequence[Block]) -> list[bool]:
    """For each block of one session, whether it was disturbed."""
    return [
        long and block.switches > 0 for long, block in zip(waited_long(blocks), blocks, strict=True)
    ]


def waited_long(blocks: Sequence[Block]) -> list[bool]:
    """For each block of one session, whether it waited longer than is usual for its case, also
    where this machine's scheduler saw nothing: a virtual machine that its host sets aside."""
    if not blocks:
        return []
    waits = [waited(block) for block in blocks]
    usual = sorted(waits)[len(waits) // 4]
    return [wait > usual + EXTRA_WAIT for wait in waits]


def undisturbed(*sides: Sequence[B]) -> tuple[Sequence[B], ...]:
    """The blocks that count, of each side of a comparison (or of the one given).

    Disturbed blocks are left out where at least half of the blocks of every side remain; otherwise
    every block of every side counts. One rule for all sides: leaving out the slow blocks of one
    side alone would favour it.
    """
    kept = tuple([block for block in side if not block.contended] for side in sides)
    enough = all(2 * len(rest) >= len(side) for rest, side in zip(kept, sides, strict=True))
    return kept if enough else sides


def disturbed_share(blocks: Sequence[Block]) -> float:
    """Share of a result's blocks that other programs disturbed, now and then or all the time."""
    return 1 - len(quiet(blocks)) / len(blocks) if blocks else 0.0


def quiet(blocks: Sequence[B]) -> list[B]:
    """The blocks that no other program disturbed, now and then or all the time."""
    return [
        block
        for block in blocks
        if not block.contended and not (block.switches > 0 and queued(block) > CROWDED_WAIT)
    ]


def computes(wall_ns: int, cpu_ns: int) -> bool:
    """Whether a block computes for so much of its time that a core which others share, where that
    takes up to twice as long, would show. One that sleeps or waits for a device does not."""
    return cpu_ns > EXTRA_WAIT * wall_ns


def queued(block: Block) -> float:
    """Share of the wall time in which it waited for a core. What a case waits for by itself (it
    sleeps, or a device computes) is not in it, however often it is preempted when it goes on. Where
    the kernel does not count that time, and in results of older versions, both are in it."""
    if block.queued_ns and block.wall_ns:
        return min(1.0, block.queued_ns / block.wall_ns)
    return waited(block)


def waited(block: Block) -> float:
    """Share of the wall time in which not even one thread of the process ran, or, of a process with
    several, in which one of them waited for a core: the others then wait for it."""
    if not block.wall_ns:
        return 0.0
    return max(0.0, 1 - block.cpu_ns / block.wall_ns, min(1.0, block.queued_ns / block.wall_ns))
