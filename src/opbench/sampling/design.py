"""A sampling design: which child gives the next block, and when there are enough of them.

A design knows no clock, process or worker. It hears what happened (`opened`, `add`, `dropped`) and
says what to do (`next`, `finished`), so that it can be tested on invented samples. The three
designs stand in `adaptive`, `paired` and `fixed`; `sampler` carries out what they say.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from opbench.plan.policy import Policy
from opbench.result import Sample
from opbench.stats.contention import contended, undisturbed
from opbench.stats.estimate import Estimate, estimate
from opbench.stats.prior import NOTHING, Prior
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt


@dataclass(frozen=True)
class Turn:
    """One block of every case in each of the worker starts, in random order.

    A child that is not there yet is forked and warmed up first.
    """

    starts: tuple[int, ...]
    #: Calls of a block: as many as the warm-up found where none are given, 0 for no block at all.
    calls: int | None = None
    #: All children are ended first, so that this turn is taken by new ones.
    fresh: bool = False
    #: No two children live at once: each is ended before the next is forked.
    alone: bool = False
    #: The run of a fixed design: children are set up again with its seed, and not warmed up.
    run: int | None = None


@dataclass(frozen=True)
class Child:
    """A child that is ready: what that took, and what its warm-up found."""

    start: int
    #: Which case of the group.
    case: int = 0
    #: Seconds of setting up and warming up.
    seconds: float = 0.0
    #: Calls in a block, and seconds of one call.
    n: int = 1
    per_call: float = 0.0


#: Hears of an estimate while sampling goes on: case, estimate, seconds spent on it so far.
Report = Callable[[int, Estimate, float], None]


@dataclass
class Design(abc.ABC):
    """What the three designs share: the samples, the time they took, and whose turn is not over."""

    policy: Policy
    #: How many cases, and seconds for each of them where the policy's are not meant.
    cases: int = 1
    seconds: float | None = None
    #: Index of the case that the others are compared with.
    base: int = 0
    #: How the cases relate, in the terms of `stats.ratio`: `paired` when forked from the same
    #: workers, `interleaved` when not, `separate` once it turns out that they cannot live together.
    relation: str = "paired"
    first_start: int = 0
    #: What earlier cases showed of the scatter between worker starts (`stats.start_variance`).
    learnt: Learnt = NOTHING_LEARNT
    report: Report | None = None

    def __post_init__(self) -> None:
        self.max_time = self.policy.max_time if self.seconds is None else self.seconds
        #: Why sampling stopped: `precise`, `time`, `starts` (more blocks of these would not help),
        #: `runs`; empty while it goes on.
        self.stopped = ""
        #: Cases that have not failed.
        self.active = set(range(self.cases))
        #: Seconds spent on each case, set-up included.
        self.spent = [0.0] * self.cases
        #: Worker starts that are known to be needed: they import their framework side by side.
        self.starts: tuple[int, ...] = (self.first_start,)
        self._samples: list[list[Sample]] = [[] for _ in range(self.cases)]
        self._due: set[tuple[int, int]] = set()
        self._begun = False

    # -- what to do ------------------------------------------------------------------------

    def next(self) -> Turn:
        """The next turn, while the design is not finished."""
        turn = self._turn() if self._begun else self._first_turn()
        self._begun = True
        if turn.calls != 0:
            self._due = {(case, start) for case in self.active for start in turn.starts}
        return turn

    def finished(self) -> bool:
        return bool(self.stopped) or not self.active

    def result(self, case: int = 0) -> tuple[Sample, ...]:
        """The samples of a case, the disturbed ones marked."""
        return marked(self._samples[case])

    # -- what happened ---------------------------------------------------------------------

    def opened(self, child: Child) -> None:
        self.spent[child.case] += child.seconds

    @abc.abstractmethod
    def room(self, children: int) -> None:
        """After the first turn: so many children of every case fit into memory side by side."""

    def add(self, sample: Sample, seconds: float = 0.0, case: int = 0) -> None:
        """A block was measured, which took so many seconds from beginning to end."""
        self._samples[case].append(sample)
        self.spent[case] += seconds
        self._done({(case, sample.start)})

    def dropped(self, case: int) -> None:
        """The case failed, and gives no more samples."""
        self.active.discard(case)
        self._done({due for due in self._due if due[0] == case})

    def _done(self, turns: set[tuple[int, int]]) -> None:
        if self._due and not self._due - turns and self.active:
            self._due = set()
            self._turn_over()
        else:
            self._due -= turns

    # -- of each design --------------------------------------------------------------------

    def _first_turn(self) -> Turn:
        """A child of every case, without a block: it shows what a call costs and holds."""
        return Turn(self.starts, calls=0)

    @abc.abstractmethod
    def _turn(self) -> Turn: ...

    @abc.abstractmethod
    def _turn_over(self) -> None:
        """Every case has had its turn: decide whether to go on."""

    def _estimate(self, case: int) -> Estimate | None:
        """The estimate so far, also for whoever listens."""
        found = estimate_of(self.result(case), self.learnt.start)
        if found is not None and self.report is not None:
            self.report(case, found, self.spent[case])
        return found


def marked(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples in their order, those marked that were taken while other programs interfered.

    What is usual for a case is judged child by child.
    """
    children: dict[tuple[int, int], list[int]] = {}
    for index, sample in enumerate(samples):
        children.setdefault((sample.start, sample.session), []).append(index)
    found = list(samples)
    for indices in children.values():
        disturbed = contended([samples[index] for index in indices])
        for index, is_disturbed in zip(indices, disturbed, strict=True):
            if is_disturbed:
                found[index] = replace(found[index], contended=True)
    return tuple(found)


def estimate_of(samples: Sequence[Sample], prior: Prior = NOTHING) -> Estimate | None:
    (kept,) = undisturbed(samples)
    placed = [(sample.start, sample.session, sample.value) for sample in kept]
    return estimate(placed, prior=prior)
