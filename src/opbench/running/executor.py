"""Who carries out a request: the runner on this machine, or a fleet of others.

Both are given the same request, report to the same listener, and hand their results to the same
recording; what differs is where the work is done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from opbench.case import Case
from opbench.plan.request import Request
from opbench.result import Key, Result
from opbench.running.listener import Listener
from opbench.running.runner import Runner

Pair = tuple[Case, Result]


class Executor(Protocol):
    @property
    def results(self) -> list[Pair]:
        """What this executor has measured so far."""

    @property
    def environments(self) -> Mapping[str, dict[str, Any]]:
        """Facts of the environments measured in, by fingerprint."""

    def facts_of_run(self) -> dict[str, Any]:
        """What the record of the run should say beside the facts of this machine."""

    def prepare(self) -> None:
        """Find out whether it can be done at all; raises with one line when it cannot."""

    def run(self) -> list[Pair]:
        """Do it. KeyboardInterrupt passes through after everything that was started has ended."""


class Keeper(Protocol):
    """Where results go as they come."""

    def keep(self, case: Case, result: Result, replacing: bool) -> None: ...

    def keep_group(
        self, pairs: Sequence[Pair], environments: Mapping[str, dict[str, Any]], most: int
    ) -> bool: ...


def executor_for(
    request: Request,
    keeper: Keeper,
    listener: Listener,
    done: Collection[Key],
    earlier: Collection[Pair],
    facts: dict[str, Any],
) -> Executor:
    """`done` are the keys of what need not be measured again, `earlier` the results behind them."""
    if request.fleet is None:
        return Runner(request, keeper.keep, listener, done, facts)
    from opbench.fleet.driver import FleetExecutor

    return FleetExecutor(request, request.fleet, keeper.keep_group, listener, earlier)
