"""Events of a run while it goes on; the default listener ignores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opbench.case import Case
from opbench.result import Result
from opbench.stats.estimate import Estimate


@dataclass(frozen=True)
class FleetState:
    """How a run over many machines stands; counted are the groups."""

    nodes: int
    #: Agents that are not ready yet: they start, or wait for a node that others use.
    starting: int
    running: int
    done: int
    total: int
    #: Results that are failures.
    failed: int
    #: Groups that were running when their node or agent died.
    lost: int


class Listener:
    def planned(self, seconds: float) -> None:
        """What sampling takes, worker starts included: a guess; zero where nothing is sampled."""

    def sides(self, names: Mapping[str, str]) -> None:
        """What the environments are called, where every case is measured in several."""

    def started(self, run_id: str, cases: int, already_done: int) -> None: ...

    def notice(self, text: str) -> None:
        """Something about the run as a whole that a person should know while it goes on."""

    def complete(self, run_id: str) -> None:
        """A run to be continued lacks nothing."""

    def compiling(self, statements: int) -> None: ...

    def building(self, environment: str, line: str) -> None: ...

    def counting(self, cases: int, workers: int, seconds: float) -> None: ...

    def starting_workers(self, what: str) -> None: ...

    def comparing(self, cases: Sequence[Case]) -> None: ...

    def measuring(self, cases: Sequence[Case]) -> None: ...

    def estimated(self, case: Case, estimate: Estimate, spent: float) -> None: ...

    def measured(self, case: Case, result: Result) -> None: ...

    def fleet(self, state: FleetState) -> None: ...

    def second_pass(self, cases: int, seconds: float) -> None: ...

    def finished(self, status: str) -> None: ...
