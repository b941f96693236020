"""One run: every group of the plan measured, every result stored the moment it is known."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opbench.case import Case
from opbench.counting.statements import compiled
from opbench.envs.environments import Environment, current
from opbench.machine import machine_facts
from opbench.plan.budget import Budget
from opbench.plan.groups import PlannedGroup, Slot, WorkGroup, work
from opbench.plan.metrics import metrics
from opbench.plan.place import Places
from opbench.plan.policy import Adaptive, Policy
from opbench.result import Key, Metric, Result, result_key
from opbench.running.counting import count
from opbench.running.listener import Listener
from opbench.running.parity import Checks, Comparison
from opbench.running.second_pass import spend_what_is_left
from opbench.sampling import outcome
from opbench.sampling.control import Control, with_moment
from opbench.sampling.group import Entry, Group
from opbench.sampling.lane import Lane
from opbench.stats.start_variance import StartVariance
from opbench.workers.pool import Kind, Pool
from opbench.workers.process import Worker, WorkerError
from opbench.workers.session import SessionEnded

if TYPE_CHECKING:
    from opbench.fleet.options import Fleet

#: A child may take this share of the memory that was free when the run began.
CHILD_MEMORY_SHARE = 0.8

#: Receives each result as soon as it exists; the flag says that it replaces an earlier one.
Sink = Callable[[Case, Result, bool], None]


@dataclass(frozen=True)
class Request:
    """What was asked for, checked and expanded: nothing here can be a user's mistake any more."""

    groups: tuple[PlannedGroup, ...]
    policy: Policy
    metrics: tuple[str, ...] = ("time",)
    environments: tuple[Environment, ...] = field(default_factory=lambda: (current(),))
    #: Frameworks that cannot live in the current environment, and where they do: see `homes`.
    homes: Mapping[str, Environment] = field(default_factory=dict)
    #: Seconds for the whole run; None for as long as the cases take.
    budget: float | None = None
    cpus: tuple[int, ...] = ()
    #: Workers that count instructions side by side; 0 for as many as the machine is good for.
    jobs: int = 0
    #: Order of interleaving and forking; inputs are seeded by the cases themselves.
    seed: int | None = None
    #: The cluster to measure on; None for this machine.
    fleet: Fleet | None = None

    @property
    def cases(self) -> list[Case]:
        return [case for group in self.groups for case in group.cases]


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
        self.request = request
        self.sink = sink
        self.listener = listener or Listener()
        self.facts = facts if facts is not None else machine_facts()
        #: Keys of what need not be measured again.
        self.done = set(done)
        self.places = Places(self.facts, request.policy)
        self.budget: Budget | None = None
        #: What the cases so far have shown of this machine, for each metric: what starts do to the
        #: time a caller waits says nothing about the time a device works.
        self.layout: defaultdict[str, StartVariance] = defaultdict(StartVariance)
        #: Groups whose intervals came out wider than asked.
        self.wide: list[WorkGroup] = []
        #: Seconds spent waiting for workers to start, for the account of where time went.
        self.start_seconds = 0.0
        #: Why what a case computes was compared with nobody's, although others compute the same.
        self.unchecked: dict[Slot, str] = {}
        self._given = pool
        self._refused: dict[tuple[Environment, str], SessionEnded] = {}
        self._checks = Checks(())
        self._results: dict[Key, tuple[Case, Result]] = {}
        self._rng = random.Random(request.seed)
        self._free = int((self.facts.get("load") or {}).get("memory_available") or 0)
        #: Cases looked at again and again, to know what the machine does meanwhile.
        self.control = Control(memory_free=self._free)

    @property
    def results(self) -> list[tuple[Case, Result]]:
        return list(self._results.values())

    @property
    def environments(self) -> dict[str, dict[str, Any]]:
        return self.places.environments

    def prepare(self) -> None:
        """What an executor on other machines does first; here nothing can be in the way."""

    def facts_of_run(self) -> dict[str, Any]:
        return {}

    def run(self) -> list[tuple[Case, Result]]:
        """Measure everything. KeyboardInterrupt passes through after the children are ended."""
        own = Pool(self.request.cases, cpus=self.request.cpus, memory_free=self._free)
        with own if self._given is None else nullcontext(self._given) as self.pool:
            todo = work(self.request.groups, self.request.environments, self.request.homes)
            slots = [slot for group in todo for slot in group.slots]
            if self.request.budget is not None:
                self.budget = Budget(self.request.budget, sum(map(self._to_sample, todo)))
            self._compile(slots)
            self._checks = Checks(slots)
            try:
                for group in todo:
                    self._measure(group)
                    self.control.visit()
                spend_what_is_left(self)
            finally:
                self.control.close()
            self._hold_other_moments()
            count(self, slots)
            self.start_seconds = self.pool.start_seconds
        return self.results

    # -- one group -------------------------------------------------------------------------

    def _to_sample(self, planned: WorkGroup) -> int:
        """How often the group will be sampled, as far as can be told before."""
        slots = [slot for slot in planned.slots if self.refusal(slot) is None]
        return sum(
            any(not self.has(slot, metric) for slot in slots)
            for metric in self.metrics()
            if metric.sampled and not metric.under and metric.beside not in self.request.metrics
        )

    def _measure(self, planned: WorkGroup) -> None:
        for slot in planned.slots:
            if not all(self.has(slot, metric) for metric in self.metrics()):
                self._agree(slot)
            self._refuse(slot)
        slots = [slot for slot in planned.slots if self.refusal(slot) is None]
        # A comparison needs both sides: where one is missing, the group is measured as a whole.
        here = [metric for metric in self.metrics() if not metric.under]
        if all(self.has(slot, metric) for slot in slots for metric in here):
            return
        self.listener.measuring([slot.case for slot in slots])
        try:
            for metric in here:
                missing = [slot for slot in slots if not self.has(slot, metric)]
                if metric.sampled and missing:
                    self._sample(planned, slots, metric)
                elif not metric.sampled:
                    for slot in missing:
                        self._exact(slot, metric)
        except WorkerError as error:
            for slot in slots:
                for metric in here:
                    if not self.has(slot, metric):
                        place = self.places.of(slot.environment)
                        self.keep(slot, outcome.failure(slot.case, metric, error.ended, place))

    def _agree(self, slot: Slot) -> None:
        """See that all that compute the same as this one agree, before any of them is timed."""
        members = [one for one in self._checks.take(slot) if self.refusal(one) is None]
        if len(members) < 2:
            return
        self.listener.comparing([one.case for one in members])
        found = Comparison(
            lambda one: self.workers(self.pool.kind(one.case, one.environment), [0])[0],
            lambda one: self.limit(one.case),
            self.request.policy.timeout,
        ).run(members)
        for one, ended in found.ended.items():
            self._refused[(one.environment, one.case.hash)] = ended
        self.unchecked.update(found.unchecked)

    def refusal(self, slot: Slot) -> SessionEnded | None:
        """Why a case is not even tried: it is known to be unsupported, or does not compile."""
        if slot.case.unsupported:
            return SessionEnded("unsupported", slot.case.unsupported)
        if slot.environment.broken:
            return SessionEnded("unsupported", slot.environment.broken)
        return self._refused.get((slot.environment, slot.case.hash))

    def _refuse(self, slot: Slot) -> None:
        ended = self.refusal(slot)
        for metric in self.metrics():
            if ended is not None and not self.has(slot, metric):
                place = self.places.of(slot.environment)
                self.keep(slot, outcome.failure(slot.case, metric, ended, place))

    def _compile(self, slots: Sequence[Slot]) -> None:
        """Build the C++ statements to be measured, all together, before anything is timed."""
        for environment in dict.fromkeys(slot.environment for slot in slots):
            cases = [
                slot.case
                for slot in slots
                if slot.environment == environment
                and slot.case.language == "cpp"
                and not slot.case.unsupported
                and not all(self.has(slot, metric) for metric in self.metrics())
            ]
            if not cases:
                continue
            self.listener.compiling(len(cases))
            found = compiled(cases, environment)
            self.pool.libraries.setdefault(environment, {}).update(found.libraries)
            for mark, ended in found.failures.items():
                self._refused[(environment, mark)] = ended

    def _sample(self, planned: WorkGroup, slots: Sequence[Slot], metric: Metric) -> None:
        group = self.group(slots, metric, planned.base_of(slots))
        group.patience = planned.patience
        if self.budget is not None:
            group.allowance = self.budget.share(self.pool.start_seconds)
        beside = [other for other in self.metrics() if other.beside == metric.name]
        group.beside = tuple(other.name for other in beside)
        members = group.sample()
        if metric.name == self.control.metric and isinstance(self.request.policy, Adaptive):
            for member in members:
                self.control.adopt(member)
        group.close()
        if self.budget is not None:
            self.budget.note(sum(member.spent for member in members))
        for member in members:
            if (found := member.estimate()) is not None and member.ended is None:
                self.layout[metric.name].add(found)
        for slot, member in zip(slots, members, strict=True):
            place = self.places.of(slot.environment, planned.id if len(slots) > 1 else "")
            result = outcome.sampled_result(member, group, metric, place)
            self.keep(slot, result, replacing=self.has(slot, metric))
            for other in beside:
                result = outcome.beside_result(member, group, other, place)
                self.keep(slot, result, replacing=self.has(slot, other))
            if member.ended and member.ended.in_setup and member.ended.outcome == "unsupported":
                # No other metric would get any further.
                self._refused[(slot.environment, slot.case.hash)] = member.ended
                self._refuse(slot)
        if any(member.stopped in ("time", "starts") for member in members):
            self.wide.append(planned)

    def group(self, slots: Sequence[Slot], metric: Metric, base: int = 0) -> Group:
        """The given slots, ready to be sampled together."""
        return Group(
            [self._entry(slot) for slot in slots],
            self.request.policy,
            metric=metric.name,
            memory_limit=self.limit(slots[0].case),
            memory_free=self._free,
            on_estimate=self.listener.estimated,
            rng=self._rng,
            base=base,
            layout=self.layout[metric.name].sd,
        )

    def _entry(self, slot: Slot) -> Entry:
        kind = self.pool.kind(slot.case, slot.environment)
        return Entry(slot.case, lambda starts: self.workers(kind, starts), kind)

    def limit(self, case: Case) -> int:
        """Bytes a child may hold; on a GPU the driver's address space makes such limits useless."""
        return int(self._free * CHILD_MEMORY_SHARE) if case.device == "cpu" else 0

    def workers(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        if not self.pool.has(kind, starts):
            self.listener.starting_workers(", ".join(kind.preload) or "Python")
        return self.pool.workers(kind, starts)

    def _exact(self, slot: Slot, metric: Metric) -> None:
        """A metric that is near-deterministic: one fresh child, so that nothing is left over."""
        policy, case = self.request.policy, slot.case
        place = self.places.of(slot.environment)
        worker = self.workers(self.pool.kind(case, slot.environment), [0])[0]
        try:
            lane = Lane.open(worker, case, policy, case.seed, self.limit(case))
            try:
                answer = lane.session.measure(metric.name, {}, policy.timeout)
            finally:
                lane.session.close()
        except SessionEnded as ended:
            self.keep(slot, outcome.failure(case, metric, ended, place))
            return
        for result in outcome.exact_results(case, answer, metric, place):
            self.keep(slot, result)

    def _hold_other_moments(self) -> None:
        """Widen the intervals by what the machine was seen to do while this run went on."""
        wandering, policy = self.control.wandering, self.request.policy
        if not wandering or not isinstance(policy, Adaptive):
            return
        for key, (case, result) in self._results.items():
            if result.metric == self.control.metric and result.ok and case.device == "cpu":
                made = with_moment(result, wandering, policy.precision)
                self.sink(case, made, True)
                self._results[key] = (case, made)

    # -- bookkeeping -----------------------------------------------------------------------

    def metrics(self) -> list[Metric]:
        return [metrics()[name] for name in self.request.metrics]

    def key(self, slot: Slot, metric: Metric) -> Key:
        place = self.places.of(slot.environment)
        where = (place["environment"], place["fingerprint"], place["policy"])
        return result_key(slot.case.hash, metric.name, *where)

    def has(self, slot: Slot, metric: Metric) -> bool:
        return self.key(slot, metric) in self.done

    def latest(self, slot: Slot, metric: Metric) -> Result | None:
        found = self._results.get(self.key(slot, metric))
        return found[1] if found else None

    def keep(self, slot: Slot, result: Result, replacing: bool = False) -> None:
        if slot in self.unchecked and result.ok:
            result = result.with_warning(
                "unchecked",
                f"nobody compared what this computes with the others: {self.unchecked[slot]}; "
                "check it yourself before you compare its time",
            )
        self.sink(slot.case, result, replacing)
        self._results[result.key()] = (slot.case, result)
        self.done.add(result.key())
        self.listener.measured(slot.case, result)
