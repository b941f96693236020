"""One run: every group of the plan measured, every result stored the moment it is known."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import Case
from opbench.result import Key, Metric, Result, result_key
from opbench.run import outcome
from opbench.run.environments import Environment, current
from opbench.run.lane import Lane
from opbench.run.listener import Listener
from opbench.run.machine import fingerprint, machine_facts, static_facts
from opbench.run.metrics import metrics
from opbench.run.plan import PlannedGroup
from opbench.run.policy import Adaptive, Policy
from opbench.run.pool import Kind, Pool
from opbench.run.sampling import Entry, Group, Member
from opbench.run.session import SessionEnded
from opbench.run.worker_process import Worker, WorkerError

#: A child may take this share of the memory that was free when the run began.
CHILD_MEMORY_SHARE = 0.8

Sink = Callable[[Case, Result, bool], None]


@dataclass(frozen=True)
class Request:
    """What was asked for, checked and expanded: nothing here can be a user's mistake any more."""

    groups: tuple[PlannedGroup, ...]
    policy: Policy
    metrics: tuple[str, ...] = ("time",)
    environments: tuple[Environment, ...] = field(default_factory=lambda: (current(),))
    #: Seconds for the whole run; None for as long as the cases take.
    budget: float | None = None
    cpus: tuple[int, ...] = ()
    #: Order of interleaving and forking; inputs are seeded by the cases themselves.
    seed: int | None = None

    @property
    def cases(self) -> list[Case]:
        return [case for group in self.groups for case in group.cases]


@dataclass
class Runner:
    request: Request
    #: Receives each result as soon as it exists; the flag says that it replaces an earlier one.
    sink: Sink
    listener: Listener = field(default_factory=Listener)
    #: `Result.key()` of what need not be measured again.
    done: frozenset[Key] = frozenset()
    facts: dict[str, Any] = field(default_factory=machine_facts)

    results: list[tuple[Case, Result]] = field(default_factory=list)
    #: Facts of each environment seen, by fingerprint.
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self) -> list[tuple[Case, Result]]:
        """Measure everything. KeyboardInterrupt passes through after the children are ended."""
        self._deadline = (
            None if self.request.budget is None else time.monotonic() + self.request.budget
        )
        self._rng = random.Random(self.request.seed)
        self._free = int((self.facts.get("load") or {}).get("memory_available") or 0)
        self._wide: list[tuple[PlannedGroup, Environment]] = []
        with Pool(self.request.cases, cpus=self.request.cpus) as self._pool:
            work = [(g, env) for env in self.request.environments for g in self.request.groups]
            for index, (group, environment) in enumerate(work):
                self._measure(group, environment, len(work) - index)
            self._spend_what_is_left()
        return self.results

    # -- one group -------------------------------------------------------------------------

    def _measure(self, group: PlannedGroup, environment: Environment, left: int) -> None:
        sampled = [m for m in self._metrics() if m.sampled]
        exact = [m for m in self._metrics() if not m.sampled]
        place = self._place(environment)
        runnable = []
        for case in group.cases:
            wanted = [m for m in self._metrics() if not self._has(case, m, place)]
            if case.unsupported:
                for metric in wanted:
                    self._keep(case, outcome.unsupported(case, metric, case.unsupported, place))
            elif wanted:
                runnable.append(case)
        if not runnable:
            return
        self.listener.measuring(runnable)
        # A comparison needs both sides: if one is missing, the group is measured as a whole.
        if len(group.cases) > 1:
            runnable = [case for case in group.cases if not case.unsupported]
        place["group"] = group.id if len(runnable) > 1 else ""
        try:
            for metric in sampled:
                self._sample(runnable, metric, place, environment, left, group)
            for metric in exact:
                for case in runnable:
                    if not self._has(case, metric, place):
                        self._exact(case, metric, place, environment)
        except WorkerError as error:
            for case in runnable:
                for metric in self._metrics():
                    if not self._has(case, metric, place):
                        ended = SessionEnded("failed", str(error))
                        self._keep(case, outcome.failure(case, metric, ended, place))

    def _sample(
        self,
        cases: Sequence[Case],
        metric: Metric,
        place: dict[str, Any],
        environment: Environment,
        left: int,
        planned: PlannedGroup,
    ) -> None:
        if all(self._has(case, metric, place) for case in cases):
            return
        group = self._group(cases, metric, environment)
        if self._deadline is not None:
            group.allowance = max(0.0, self._deadline - time.monotonic()) / left
        members = group.sample()
        for member in members:
            self._keep(member.case, outcome.sampled_result(member, group, metric, place))
        group.close()
        if any(member.stopped in ("time", "starts") for member in members):
            self._wide.append((planned, environment))

    def _group(self, cases: Sequence[Case], metric: Metric, environment: Environment) -> Group:
        return Group(
            [self._entry(case, environment) for case in cases],
            self.request.policy,
            metric=metric.name,
            memory_limit=self._limit(cases[0]),
            memory_free=self._free,
            on_estimate=self.listener.estimated,
            rng=self._rng,
        )

    def _entry(self, case: Case, environment: Environment) -> Entry:
        kind = self._pool.kind(case, environment)
        return Entry(case, lambda starts: self._workers(kind, starts), kind)

    def _limit(self, case: Case) -> int:
        """Bytes a child may hold; on a GPU the driver's address space makes such limits useless."""
        return int(self._free * CHILD_MEMORY_SHARE) if case.device == "cpu" else 0

    def _workers(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        if not self._pool.has(kind, starts):
            self.listener.starting_workers(", ".join(kind.preload) or "Python")
        return self._pool.workers(kind, starts)

    def _exact(
        self, case: Case, metric: Metric, place: dict[str, Any], environment: Environment
    ) -> None:
        """A metric that is near-deterministic: one fresh child, so that nothing is left over."""
        policy = self.request.policy
        kind = self._pool.kind(case, environment)
        worker = self._workers(kind, [0])[0]
        try:
            lane = Lane.open(worker, case, policy, case.seed, self._limit(case))
            answer = lane.session.measure(metric.name, {}, policy.timeout)
            lane.session.close()
        except SessionEnded as ended:
            self._keep(case, outcome.failure(case, metric, ended, place))
            return
        for result in outcome.exact_results(case, answer, metric, place):
            self._keep(case, result)

    # -- the second pass -------------------------------------------------------------------

    def _spend_what_is_left(self) -> None:
        """What the budget still holds after the first pass goes to the noisiest cases."""
        policy = self.request.policy
        if self._deadline is None or not isinstance(policy, Adaptive) or not self._wide:
            return
        left = self._deadline - time.monotonic()
        if left <= 0:
            return
        self.listener.second_pass(sum(len(g.cases) for g, _ in self._wide), left)
        metric = metrics()["time"]
        rounds = 0
        while self._wide and time.monotonic() < self._deadline:
            rounds += 1
            self._wide.sort(key=lambda item: self._width(item[0], item[1]), reverse=True)
            planned, environment = self._wide.pop(0)
            if self._again(planned, environment, metric, rounds):
                self._wide.append((planned, environment))

    def _again(
        self, planned: PlannedGroup, environment: Environment, metric: Metric, rounds: int
    ) -> bool:
        """More worker starts for one group; the new samples join the old ones."""
        place = self._place(environment)
        place["group"] = planned.id if len(planned.cases) > 1 else ""
        earlier = {case.hash: self._latest(case, metric, place) for case in planned.cases}
        cases = [case for case in planned.cases if (r := earlier[case.hash]) and r.ok]
        if not cases:
            return False
        used = {s.start for r in earlier.values() if r is not None for s in r.samples}
        group = self._group(cases, metric, environment)
        group.first_start = max(used) + 1
        assert self._deadline is not None
        group.allowance = max(0.0, self._deadline - time.monotonic())
        group.order = max(s.order for r in earlier.values() if r is not None for s in r.samples)
        members = group.sample()
        group.close()
        again = False
        for member in members:
            before = earlier[member.case.hash]
            if member.ended is None and before is not None:
                result = self._joined(member, group, before, metric, place)
                self._keep(member.case, result, replacing=True)
                policy = self.request.policy
                assert isinstance(policy, Adaptive)
                again = again or (result.half_width or 0) > policy.precision
        return again

    def _joined(
        self, member: Member, group: Group, before: Result, metric: Metric, place: dict[str, Any]
    ) -> Result:
        samples = (*before.samples, *member.samples())
        detail = {**before.detail, "starts": len({s.start for s in samples}), "second_pass": True}
        return outcome.from_samples(
            member.case, metric, samples, detail, self.request.policy, place
        )

    def _width(self, planned: PlannedGroup, environment: Environment) -> float:
        place = self._place(environment)
        found = [self._latest(case, metrics()["time"], place) for case in planned.cases]
        return max((r.half_width or 0.0 for r in found if r is not None), default=0.0)

    # -- bookkeeping -----------------------------------------------------------------------

    def _metrics(self) -> list[Metric]:
        return [metrics()[name] for name in self.request.metrics]

    def _place(self, environment: Environment) -> dict[str, Any]:
        """The fields of a result that say where and how it was measured."""
        from opbench.run.environments import interpreter_facts_of

        interpreter = interpreter_facts_of(environment)
        machine = static_facts(self.facts)
        mark = fingerprint(machine, interpreter)
        self.environments.setdefault(mark, {"machine": machine, "interpreter": interpreter})
        return {
            "environment": environment.name,
            "fingerprint": mark,
            "policy": self.request.policy.text,
        }

    def _has(self, case: Case, metric: Metric, place: dict[str, Any]) -> bool:
        where = (place["environment"], place["fingerprint"], place["policy"])
        return result_key(case.hash, metric.name, *where) in self.done

    def _latest(self, case: Case, metric: Metric, place: dict[str, Any]) -> Result | None:
        for known, result in reversed(self.results):
            if known.hash == case.hash and result.key() == result_key(
                case.hash,
                metric.name,
                place["environment"],
                place["fingerprint"],
                place["policy"],
            ):
                return result
        return None

    def _keep(self, case: Case, result: Result, replacing: bool = False) -> None:
        if replacing:
            self.results = [
                (c, r) for c, r in self.results if r.key() != result.key() or c.hash != case.hash
            ]
        self.sink(case, result, replacing)
        self.results.append((case, result))
        self.done = self.done | {result.key()}
        self.listener.measured(case, result)
