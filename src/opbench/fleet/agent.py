"""What runs on a node: a process that measures units, one at a time, and keeps its workers.

Ray starts it and reports its death to the driver. Its workers exit with it, when their channel
closes. The runner does here what it does in a run on one machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opbench.case import Case
from opbench.envs.builds import home
from opbench.envs.environments import Environment
from opbench.fleet import wire
from opbench.machine import load_facts, machine_facts
from opbench.plan.request import Request
from opbench.result import Key, Result
from opbench.running.runner import Runner
from opbench.stats.start_variance import StartVariances
from opbench.workers.pool import Pool


class Agent:
    def __init__(self, shared: Mapping[str, Any]) -> None:
        """`shared` is what all units have in common: policy, environments, files, preloads."""
        self._shared = shared
        self._policy = wire.policy_from_dict(shared["policy"])
        self._roots = wire.write_files(shared["files"], home().parent / "projects")
        self._facts = machine_facts()
        self._environments: dict[str, Environment] = {}
        self._pool = Pool(cpus=tuple(shared["cpus"]))
        for framework, modules in shared["preload"].items():
            self._pool.preload(framework, modules)
        self._start_variances = StartVariances()

    def ready(self) -> dict[str, Any]:
        return {"pid": os.getpid()}

    def measure(self, unit: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        """The results, in order, and the facts of their environments."""
        names = dict.fromkeys(name for g in unit["groups"] for name in g["environments"])
        here = {name: self._environment(name) for name in names}
        request = Request(
            groups=wire.groups_from_dict(unit, here, self._roots),
            policy=self._policy,
            metrics=tuple(unit["metrics"]),
            environments=tuple(here.values()),
            budget=seconds,
            cpus=tuple(self._shared["cpus"]),
            jobs=self._shared["jobs"],
            number=self._shared["number"],
            repeats=self._shared["repeats"],
            seed=self._shared["seed"],
        )
        kept: dict[Key, Result] = {}

        def keep(_case: Case, result: Result, _replacing: bool) -> None:
            kept[result.key()] = result

        facts = {**self._facts, "load": load_facts()}
        runner = Runner(request, keep, facts=facts, pool=self._pool)
        runner.state.start_variances = self._start_variances
        runner.run()
        return {
            "results": [wire.result_to_dict(result) for result in kept.values()],
            "environments": runner.environments,
        }

    def _environment(self, name: str) -> Environment:
        """Built when the first unit needs it."""
        if name not in self._environments:
            data = next(e for e in self._shared["environments"] if e["name"] == name)
            self._environments[name] = wire.environment_from_dict(data)
        return self._environments[name]
