"""What runs on a node: a process that measures parcels, one at a time, and keeps its workers.

Ray starts it and tells its driver when it dies. Its workers end with it: they hear their channel
close. Everything that a run on one machine does between plan and result, the runner does here.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from opbench.case import Case
from opbench.envs.builds import home
from opbench.envs.environments import Environment
from opbench.fleet import shipment
from opbench.machine import load_facts, machine_facts
from opbench.plan.request import Request
from opbench.result import Key, Result
from opbench.running.runner import Runner
from opbench.stats.start_variance import StartVariance
from opbench.workers.pool import Pool


class Agent:
    def __init__(self, told: Mapping[str, Any]) -> None:
        """`told` holds what all parcels share: policy, environments, files, preloads."""
        self._told = told
        self._policy = shipment.policy_from_dict(told["policy"])
        self._roots = shipment.lay_out(told["files"], home().parent / "projects")
        self._facts = machine_facts()
        self._environments: dict[str, Environment] = {}
        self._pool = Pool(cpus=tuple(told["cpus"]))
        for framework, modules in told["preload"].items():
            self._pool.preload(framework, modules)
        self._start_variance: defaultdict[str, StartVariance] = defaultdict(StartVariance)
        self._pair_variance: defaultdict[tuple[str, str], StartVariance] = defaultdict(
            StartVariance
        )

    def ready(self) -> dict[str, Any]:
        return {"pid": os.getpid()}

    def measure(self, parcel: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        """Results in their order, and the facts of the environments they were measured in."""
        names = dict.fromkeys(name for g in parcel["groups"] for name in g["environments"])
        here = {name: self._environment(name) for name in names}
        request = Request(
            groups=shipment.groups_from_dict(parcel, here, self._roots),
            policy=self._policy,
            metrics=tuple(parcel["metrics"]),
            environments=tuple(here.values()),
            budget=seconds,
            cpus=tuple(self._told["cpus"]),
            jobs=self._told["jobs"],
            seed=self._told["seed"],
        )
        kept: dict[Key, Result] = {}

        def keep(_case: Case, result: Result, _replacing: bool) -> None:
            kept[result.key()] = result

        facts = {**self._facts, "load": load_facts()}
        runner = Runner(request, keep, facts=facts, pool=self._pool)
        runner.state.start_variance = self._start_variance
        runner.state.pair_variance = self._pair_variance
        runner.run()
        return {
            "results": [shipment.result_to_dict(result) for result in kept.values()],
            "environments": runner.environments,
        }

    def _environment(self, name: str) -> Environment:
        """Built when the first parcel needs it."""
        if name not in self._environments:
            told = next(one for one in self._told["environments"] if one["name"] == name)
            self._environments[name] = shipment.environment_from_dict(told)
        return self._environments[name]
