"""One run on this machine: every group measured, every result handed on the moment it is known."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from opbench.case import Case
from opbench.counting.statements import compiled
from opbench.machine import machine_facts
from opbench.plan.budget import Budget
from opbench.plan.groups import PlannedGroup, Slot, placed
from opbench.plan.policy import Adaptive, Fixed
from opbench.plan.request import Request
from opbench.result import Key, Metric, Result
from opbench.running.at_once import measure_at_once
from opbench.running.counting import count
from opbench.running.listener import Listener
from opbench.running.parity import ParityCheck, ParityGroups
from opbench.running.sampled import sample
from opbench.running.second_pass import spend_what_is_left
from opbench.running.state import RunState, Sink
from opbench.sampling.drift import DriftControl, widen_for_drift
from opbench.workers.pool import Pool
from opbench.workers.process import WorkerError, again_if_worker_dies


class Runner:
    def __init__(
        self,
        request: Request,
        sink: Sink,
        listener: Listener | None = None,
        done: Collection[Key] = (),
        facts: dict[str, Any] | None = None,
        pool: Pool | None = None,
    ) -> None:
        """With a `pool`, its workers are used and left alive: many small runs may share them."""
        facts = facts if facts is not None else machine_facts()
        self.request = request
        self.state = RunState(request, sink, listener or Listener(), done, facts, pool)
        #: Cases measured again and again, to know what the machine does meanwhile.
        self.control = DriftControl(
            memory_free=self.state.memory_free, settle=self.state.pool.settle
        )
        self._own_pool = pool is None
        self._parity = ParityGroups(())

    @property
    def results(self) -> list[tuple[Case, Result]]:
        """In the order of the plan: what cannot be measured is known before the rest."""
        place = {case.hash: number for number, case in enumerate(self.request.cases)}
        return sorted(self.state.results.values(), key=lambda each: place[each[0].hash])

    @property
    def environments(self) -> dict[str, dict[str, Any]]:
        return self.state.places.environments

    @property
    def start_seconds(self) -> float:
        """Seconds spent waiting for workers to start, for the account of where time went."""
        return self.state.pool.start_seconds

    def prepare(self) -> None:
        """What an executor on other machines does first; here nothing can be in the way."""

    def facts_of_run(self) -> dict[str, Any]:
        return {}

    @property
    def missing(self) -> bool:
        """Whether anything is left to be measured."""
        request = self.request
        groups = placed(request.groups, request.environments, request.framework_envs)
        return any(not self.state.has_all(slot) for group in groups for slot in group.slots)

    def run(self) -> list[tuple[Case, Result]]:
        """Measure everything. KeyboardInterrupt passes through after the children are ended."""
        state, request = self.state, self.request
        groups = placed(request.groups, request.environments, request.framework_envs)
        slots = [slot for group in groups for slot in group.slots]
        with state.pool if self._own_pool else nullcontext():
            if request.budget is not None:
                state.budget = Budget(request.budget, sum(map(self._times_sampled, groups)))
            self._compile(slots)
            self._parity = ParityGroups(slots)
            try:
                for group in groups:
                    self._measure(group)
                    self.control.visit()
                spend_what_is_left(state)
            finally:
                self.control.close()
            self._widen_for_drift()
            count(state, slots)
        return self.results

    def _times_sampled(self, group: PlannedGroup) -> int:
        """How often the group will be sampled, as far as is known before."""
        state = self.state
        slots = [slot for slot in group.slots if state.refusal(slot) is None]
        return sum(
            any(not state.has(slot, metric) for slot in slots)
            for metric in state.metrics
            if metric.sampled
            and not metric.tool
            and metric.measured_with not in self.request.metrics
        )

    def _compile(self, slots: Sequence[Slot]) -> None:
        """Build the C++ statements to be measured, all together, before anything is timed."""
        state = self.state
        todo = [
            slot
            for slot in slots
            if slot.case.language == "cpp" and not slot.case.unsupported and not state.has_all(slot)
        ]
        for environment in dict.fromkeys(slot.environment for slot in todo):
            here = [slot for slot in todo if slot.environment == environment]
            state.listener.compiling(len(here))
            found = compiled([slot.case for slot in here], environment)
            state.pool.libraries.setdefault(environment, {}).update(found.libraries)
            for slot in here:
                if slot.case.hash in found.failures:
                    state.refuse(slot, found.failures[slot.case.hash])

    def _measure(self, group: PlannedGroup) -> None:
        state = self.state
        for slot in group.slots:
            if not state.has_all(slot):
                self._check_parity(slot)
            state.keep_refusal(slot)
        slots = [slot for slot in group.slots if state.refusal(slot) is None]
        here = [metric for metric in state.metrics if not metric.tool]
        if all(state.has(slot, metric) for slot in slots for metric in here):
            return
        state.listener.measuring([slot.case for slot in slots])
        try:
            for metric in here:
                again_if_worker_dies(partial(self._measure_metric, group, slots, metric))
        except WorkerError as error:
            for slot in slots:
                for metric in here:
                    if not state.has(slot, metric):
                        state.fail(slot, metric, error.ended)

    def _measure_metric(self, group: PlannedGroup, slots: Sequence[Slot], metric: Metric) -> None:
        missing = [slot for slot in slots if not self.state.has(slot, metric)]
        if metric.sampled and missing:
            # A comparison needs both sides: where one is missing, all are measured. What a fixed
            # design has measured stays, as `--cont` of the older suites promises.
            fixed = isinstance(self.request.policy, Fixed)
            sample(self.state, group, missing if fixed else slots, metric, self.control)
        elif not metric.sampled:
            measure_at_once(self.state, missing, metric)

    def _check_parity(self, slot: Slot) -> None:
        """See that all that compute the same as this one agree, before any of them is timed."""
        state = self.state
        members = [each for each in self._parity.take(slot) if state.refusal(each) is None]
        if len(members) < 2:
            return
        state.listener.comparing([each.case for each in members])
        # All frameworks import side by side, while the first makes its inputs.
        for each in members:
            state.begin(state.pool.kind(each.case, each.environment), (0,))
        found = ParityCheck(
            lambda each: state.workers_of(each)[0],
            lambda each: state.memory_limit(each.case),
            self.request.policy.timeout,
            beside=self._cores_for(members) > 1,
        ).run(members)
        for each, ended in found.ended.items():
            state.refuse(each, ended)
        state.unchecked.update(found.unchecked)

    def _cores_for(self, members: Sequence[Slot]) -> int:
        """How many of these can run at once, without taking from each other what is not theirs."""
        cases = [each.case for each in members]
        if not all(case.independent and case.device == "cpu" for case in cases):
            return 1
        cpus = self.state.pool.cpus or os.sched_getaffinity(0)
        return len(cpus) // max(case.threads for case in cases)

    def _widen_for_drift(self) -> None:
        """Widen the intervals by what the machine was seen to do while this run went on."""
        drift = self.control.drift
        if not drift or not isinstance(self.request.policy, Adaptive):
            return
        for case, result in self.results:
            if result.metric == self.control.metric and result.ok and case.device == "cpu":
                self.state.replace(case, widen_for_drift(result, drift))
