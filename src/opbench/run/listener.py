"""What a run tells while it goes on. The default listens to nothing."""

from __future__ import annotations

from collections.abc import Sequence

from opbench.case import Case
from opbench.result import Result
from opbench.stats.estimate import Estimate


class Listener:
    def started(self, run_id: str, cases: int, already_done: int) -> None: ...

    def compiling(self, statements: int) -> None: ...

    def starting_workers(self, what: str) -> None: ...

    def measuring(self, cases: Sequence[Case]) -> None: ...

    def estimated(self, case: Case, estimate: Estimate, spent: float) -> None: ...

    def measured(self, case: Case, result: Result) -> None: ...

    def second_pass(self, cases: int, seconds: float) -> None: ...

    def finished(self, status: str) -> None: ...
