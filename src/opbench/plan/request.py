"""What was asked for, checked and expanded: nothing here can be a user's mistake any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opbench.case import Case
from opbench.envs.environments import Environment, current
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Policy

if TYPE_CHECKING:
    from opbench.fleet.options import Fleet


@dataclass(frozen=True)
class Request:
    groups: tuple[PlannedGroup, ...]
    policy: Policy
    metrics: tuple[str, ...] = ("time",)
    environments: tuple[Environment, ...] = field(default_factory=lambda: (current(),))
    #: Environments of the frameworks that cannot share the current one.
    framework_envs: Mapping[str, Environment] = field(default_factory=dict)
    #: Seconds for the whole run; None for as long as the cases take.
    budget: float | None = None
    cpus: tuple[int, ...] = ()
    #: Whether workers come from the pool of starts that outlives commands.
    pool: bool = False
    #: Workers that count instructions side by side; 0 for as many as the machine is good for.
    jobs: int = 0
    #: Calls whose instructions are counted together, and how often; None: by the length of a call.
    number: int | None = None
    repeats: int | None = None
    #: Order of interleaving and forking; inputs are seeded by the cases themselves.
    seed: int | None = None
    #: The cluster to measure on; None for this machine.
    fleet: Fleet | None = None

    @property
    def cases(self) -> list[Case]:
        return [case for group in self.groups for case in group.cases]
