"""Where and how a result was measured: environment, fingerprint, policy."""

from __future__ import annotations

from typing import Any

from opbench.envs.environments import Environment, interpreter_facts_of
from opbench.machine import fingerprint, static_facts
from opbench.plan.policy import Policy


class Places:
    """The fields of a result that say where it comes from, worked out once per environment."""

    def __init__(self, facts: dict[str, Any], policy: Policy) -> None:
        self._machine = static_facts(facts)
        self._policy = policy.text
        self._known: dict[Environment, str] = {}
        #: Facts of each environment seen, by fingerprint.
        self.environments: dict[str, dict[str, Any]] = {}

    def of(self, environment: Environment, group: str = "") -> dict[str, Any]:
        if environment not in self._known:
            interpreter = interpreter_facts_of(environment)
            known = fingerprint(self._machine, interpreter)
            self._known[environment] = known
            self.environments[known] = {"machine": self._machine, "interpreter": interpreter}
        return {
            "environment": environment.name,
            "fingerprint": self._known[environment],
            "policy": self._policy,
            "group": group,
        }
