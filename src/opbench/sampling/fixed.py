"""The fixed design: `num_runs` runs of `num_repeats` calls, each set up anew with the next seed."""

from __future__ import annotations

from opbench.plan.policy import Fixed
from opbench.sampling.design import Design, Report, Turn
from opbench.stats.estimate import LAYOUT

#: Runs between two reports of the estimate.
REPORT_EVERY = 5


class FixedDesign(Design):
    def __init__(
        self,
        policy: Fixed,
        cases: int = 1,
        *,
        first_start: int = 0,
        layout: float = LAYOUT,
        report: Report | None = None,
    ) -> None:
        super().__init__(cases, first_start=first_start, layout=layout, report=report)
        self.policy = policy
        self.starts = tuple(range(first_start, first_start + min(policy.starts, policy.num_runs)))
        self._run = 0
        self._alone = False

    def room(self, children: int) -> None:
        """Where the children of all starts do not fit side by side, each run gets its own child."""
        self._alone = children < len(self.starts)

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
