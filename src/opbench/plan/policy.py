"""How long to sample, as data: the asked precision or a fixed number of runs, and the limits."""

from __future__ import annotations

from dataclasses import dataclass

#: Worker starts at most, unless more are asked for: a start costs an import of the framework.
MAX_STARTS = 12


@dataclass(frozen=True)
class Policy:
    """What both designs share."""

    #: The soft limit for one case, its warm-up included.
    max_time: float = 5.0
    #: A single answer that takes longer than this is a hang.
    timeout: float = 60.0
    #: Long enough that clock and loop cost less than 0.1 % of a block (a pair of clock readings
    #: costs 0.2 µs on slow machines), short enough that a burst of noise spoils only a few.
    block_seconds: float = 0.002
    #: Warm-up of one session at most, and never more than a share of `max_time`.
    warmup_seconds: float = 0.1

    @property
    def text(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Adaptive(Policy):
    """Sample until the 95 % interval is within ±`precision`, or `max_time` is spent."""

    precision: float = 0.02
    #: Rounds of blocks before the first look at the interval: a median of fewer is no median.
    min_rounds: int = 5
    #: Fresh worker starts to begin with, and at most.
    starts: int = 3
    max_starts: int = MAX_STARTS
    #: Worker starts of each side of a comparison, where more than usual were asked for.
    pair_starts: int = 0

    @property
    def text(self) -> str:
        """Canonical text: results of different policies are different results."""
        text = f"adaptive precision={self.precision:g} max_time={self.max_time:g}"
        asked = self.max_starts != MAX_STARTS or self.pair_starts > 0
        return text + f" max_starts={self.max_starts}" * asked


@dataclass(frozen=True)
class Fixed(Policy):
    """`num_runs` runs, each set up again with the next seed and timed over `num_repeats` calls."""

    num_runs: int = 100
    num_repeats: int = 20
    starts: int = 3

    @property
    def text(self) -> str:
        text = f"fixed runs={self.num_runs} repeats={self.num_repeats}"
        return text + f" starts={self.starts}" * (self.starts != Fixed.starts)
