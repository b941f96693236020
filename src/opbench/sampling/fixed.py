"""The fixed design: `num_runs` runs of `num_repeats` calls, each set up with the next seed."""

from __future__ import annotations

from dataclasses import dataclass

from opbench.plan.policy import Fixed
from opbench.sampling.design import Design, Turn

#: Runs between two reports of the estimate.
REPORT_EVERY = 5


@dataclass
class FixedDesign(Design):
    policy: Fixed

    def __post_init__(self) -> None:
        super().__post_init__()
        starts = min(self.policy.starts, self.policy.num_runs)
        self.starts = tuple(range(self.first_start, self.first_start + starts))
        self._run = 0
        self._alone = False

    def room(self, children: int) -> None:
        """Where the children of all starts do not fit side by side, each run gets its own child."""
        if children < len(self.starts):
            self._alone, self.relation = True, "separate"

    def _first_turn(self) -> Turn:
        return self._turn()  # the first run shows it as well

    def _turn(self) -> Turn:
        start = self.starts[self._run % len(self.starts)]
        return Turn((start,), self.policy.num_repeats, alone=self._alone, run=self._run)

    def _turn_over(self) -> None:
        self._run += 1
        if self._run % REPORT_EVERY == 0:
            for case in self.active:
                self._estimate(case)
        if self._run == self.policy.num_runs:
            self.stopped = "runs"
