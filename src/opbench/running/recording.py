"""A run and its place in a store: begun or resumed, fed result by result, brought to an end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.case import Case
from opbench.envs import framework_envs
from opbench.errors import UNMEASURED
from opbench.machine import machine_facts
from opbench.plan.groups import Baseline, PlannedGroup, placed
from opbench.plan.metrics import metrics
from opbench.plan.request import Request
from opbench.result import Key, Result
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.stats.prior import VarianceFit
from opbench.stats.start_variance import Kind, StartVariances
from opbench.store.facts import machine_and_hardware
from opbench.workers.process import WORKER_ENDED

if TYPE_CHECKING:
    from opbench.fleet.driver import FleetExecutor
    from opbench.store import Store
    from opbench.store.records import RunRecord


#: Signals that are sent by others, not raised by a fault of the code.
OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
MILLISECOND = 1e-3


@dataclass
class Finished:
    """What a run gave. Iterating yields (case, result) pairs."""

    id: str
    results: list[tuple[Case, Result]] = field(default_factory=list)
    #: Where the results are stored; empty when nothing was saved.
    store: str = ""
    baseline: Baseline | None = None
    #: `finished`, or `interrupted` by the person.
    status: str = "finished"
    name: str = ""

    def __iter__(self) -> Iterator[tuple[Case, Result]]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def failures(self) -> list[tuple[Case, Result]]:
        return [(case, result) for case, result in self.results if result.failed]

    @property
    def unmeasured(self) -> dict[str, str]:
        """Metrics that no case has a value of, though none failed; and why the first has none."""
        found: dict[str, str] = {}
        measured = {result.metric for _, result in self.results if result.outcome != "unsupported"}
        for _, result in self.results:
            if result.metric not in measured:
                found.setdefault(result.metric, result.outcome_text)
        return found

    @property
    def exit_code(self) -> int:
        """1 where a case failed. What a framework cannot do is no failure, but a metric of which
        no case at all has a value was not measured."""
        if self.status == "interrupted":
            return 130
        return 1 if self.failures else UNMEASURED if self.unmeasured else 0

    def exit_code_with(self, gate: int) -> int:
        """With the exit code of a gate: that a case failed is the more telling reason for having
        measured nothing."""
        return self.exit_code if self.failures else gate or self.exit_code


@dataclass
class Recording:
    record: RunRecord
    #: None when nothing is to be saved.
    store: Store | None
    resumed_run: bool = False
    #: A resumed run is read from its store in any case; without this, what is missing is measured
    #: and shown, and nothing written.
    save: bool = True
    _known_environments: set[str] = field(default_factory=set)
    #: Keys of results that a continued run has and measures again.
    _replaced: set[Key] = field(default_factory=set)

    @classmethod
    def begun(
        cls, where: str | Path | None, save: bool, request: dict[str, Any], command: str
    ) -> Recording:
        """A new run. The store is opened now, so that a bad one is refused before measuring."""
        from opbench import __version__
        from opbench.store.records import RunRecord

        store = None
        if save:
            from opbench.store import Store

            store = Store.open(where)
        facts = machine_facts()
        record = RunRecord.new(
            request.get("name") or "",
            command=command,
            version=__version__,
            commit=str((facts.get("git") or {}).get("commit") or ""),
            machine=facts,
            request=request,
        )
        return cls(record, store)

    @classmethod
    def resumed(cls, where: str | Path | None, name: str, save: bool = True) -> Recording:
        """The latest run, or the latest of that name."""
        from opbench.store import Store, StoreError

        store = Store.open(where, create=False)
        try:
            return cls(store.find_run(name or "last"), store, resumed_run=True, save=save)
        except StoreError:
            store.close()
            raise

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def measure(
        self,
        request: Request,
        listener: Listener,
        baseline: Baseline | None = None,
        sides: Mapping[str, str] | None = None,
    ) -> Finished:
        """Measure what is missing. An interrupt ends the children, keeps what is finished.

        `sides`: what several environments are called, where not by their names.
        """
        if request.fleet is None:
            environments = framework_envs.of(request, listener.building)
        else:
            environments = framework_envs.named(request)  # nodes build what they need themselves
        request = replace(request, framework_envs=environments)
        earlier, done = self._earlier(request)
        facts = machine_facts() if self.resumed_run else self.record.machine
        runner = self._runner = self._runner_for(request, listener, done, earlier, facts)
        if isinstance(runner, Runner):
            runner.state.start_variances = self._start_variances(facts)
        try:
            runner.prepare()
        except BaseException:
            self.close()
            raise
        if not self.save:
            self.close()
            self.store = None
        if self.resumed_run and isinstance(runner, Runner) and not runner.missing:
            return self._complete(earlier, listener, baseline)
        self._begin(request)
        groups = placed(request.groups, request.environments, request.framework_envs)
        slots = sum(len(group.cases) for group in groups)
        listener.planned(planned_seconds(request, groups))
        if len(request.environments) > 1:
            listener.sides(sides or {each.name: each.name for each in request.environments})
        listener.started(self.record.id, slots, len(earlier))
        run = Finished(self.record.id, store=self._where, baseline=baseline, name=self.record.name)
        run.status = "failed"
        if self.store is not None:
            self.store.outages.notice = listener.notice
        try:
            runner.run()
            run.status = "finished"
        except KeyboardInterrupt:
            run.status = "interrupted"
        finally:
            run.results = [*_still_true(earlier, runner.results), *runner.results]
            self._finish(runner, run.status, facts)
            listener.finished(run.status)
        return run

    def _finish(self, runner: Runner | FleetExecutor, status: str, facts: dict[str, Any]) -> None:
        if self.store is None:
            return
        from opbench.store.errors import Unreachable

        if status == "interrupted":
            self.store.outages.seconds = 0.0  # whoever interrupts a run does not want to wait
        try:
            if isinstance(runner, Runner):
                self._keep_start_variances(runner.state.start_variances, facts)
            self.store.finish_run(self.record.id, status)
        except Unreachable:
            # Every result that is stored is whole, and `--cont` needs no more. What ended the run
            # has been said; only at the end of a whole run is this the first to notice.
            if status == "finished":
                raise
        finally:
            self.store.close()

    @property
    def _where(self) -> str:
        return str(self.store.path or self.store.url) if self.store else ""

    def _complete(
        self,
        earlier: list[tuple[Case, Result]],
        listener: Listener,
        baseline: Baseline | None,
    ) -> Finished:
        """A run to be continued that lacks nothing."""
        listener.complete(self.record.id)
        where = self._where
        if self.store is not None and self.record.status != "finished":
            self.store.finish_run(self.record.id)
        self.close()
        return Finished(self.record.id, earlier, where, baseline, name=self.record.name)

    def _runner_for(
        self,
        request: Request,
        listener: Listener,
        done: Collection[Key],
        earlier: Collection[tuple[Case, Result]],
        facts: dict[str, Any],
    ) -> Runner | FleetExecutor:
        """Both report to the listener and bring their results here; they differ in where the work
        is done. `done` are the keys of what need not be measured again, `earlier` its results."""
        if request.fleet is None:
            return Runner(request, self.keep, listener, done, facts)
        from opbench.fleet.driver import FleetExecutor

        return FleetExecutor(request, request.fleet, self.keep_group, listener, earlier)

    def _earlier(self, request: Request) -> tuple[list[tuple[Case, Result]], frozenset[Key]]:
        """What a resumed run has of this request, and the keys of all it has."""
        if self.store is None or not self.resumed_run:
            return [], frozenset()
        wanted = {case.hash for case in request.cases}
        stored = self.store.results(run=self.record, samples=True)
        earlier = [(s.case, s.result) for s in stored if s.case.hash in wanted]
        self._replaced = {s.result.key() for s in stored if ended_from_outside(s.result)}
        return earlier, frozenset(self.store.done_keys(self.record.id)) - self._replaced

    def _begin(self, request: Request) -> None:
        if self.store is None:
            return
        if self.resumed_run:
            self.store.resume_run(self.record.id)
            return
        machine = {**self.record.machine, **self._runner.facts_of_run()}
        created = self.record.created
        for latest in self.store.runs(limit=1):
            # The clock may have been set back: the run that began last is `last` all the same.
            created = max(created, latest.created + MILLISECOND)
        self.record = replace(
            self.record, policy=asdict(request.policy), machine=machine, created=created
        )
        self.store.begin_run(self.record)

    def _start_variances(self, facts: dict[str, Any]) -> StartVariances:
        """What the latest runs on this machine showed, for the first cases of this one."""
        earlier: dict[Kind, list[VarianceFit]] = {}
        if self.store is not None:
            for each in self.store.start_variances(machine_and_hardware(facts)):
                sums = VarianceFit(each.cases, each.freedom, each.logs, each.squares, each.expected)
                earlier.setdefault((each.metric, each.design), []).append(sums)
        return StartVariances(earlier)

    def _keep_start_variances(self, found: StartVariances, facts: dict[str, Any]) -> None:
        from opbench.store.records import StoredVariance

        assert self.store is not None
        fits = [StoredVariance(*kind, **asdict(fit)) for kind, fit in found.fits.items()]
        self.store.add_start_variances(self.record.id, machine_and_hardware(facts), fits)

    def keep(self, case: Case, result: Result, replacing: bool) -> None:
        if self.store is None:
            return
        self._add_environment(result.fingerprint, self._runner.environments)
        again = result.key() in self._replaced
        self.store.add_result(self.record.id, case, result, replace=replacing or again)

    def keep_group(
        self,
        pairs: Sequence[tuple[Case, Result]],
        environments: Mapping[str, dict[str, Any]],
        most: int,
    ) -> bool:
        """Whole or not at all; not when `most` nodes have brought it already."""
        if self.store is None:
            return True
        for fingerprint in environments:
            self._add_environment(fingerprint, environments)
        return self.store.add_group(self.record.id, pairs, most)

    def _add_environment(
        self, fingerprint: str, environments: Mapping[str, dict[str, Any]]
    ) -> None:
        known = fingerprint in self._known_environments or fingerprint not in environments
        if self.store is not None and not known:
            self.store.add_environment(fingerprint, environments[fingerprint])
            self._known_environments.add(fingerprint)


def ended_from_outside(result: Result) -> bool:
    """Whether a case has no value because somebody ended its process, or its worker: it may well
    have one the next time."""
    if result.outcome == "crashed":
        return result.reason in OUTSIDE
    return result.outcome == "failed" and result.reason.startswith(WORKER_ENDED)


#: What a set of worker starts takes that imports a framework, and one that imports nothing; seen
#: with torch on two cores.
START_SECONDS, PLAIN_START_SECONDS = 8.0, 1.0


def planned_seconds(request: Request, groups: Sequence[PlannedGroup]) -> float:
    """What sampling takes: the limit of every case and metric, and the worker starts; zero where
    no metric is sampled.

    Calls that take a second may need more, and counting and compiling come on top: how long they
    take is known when they begin.
    """
    known = metrics()
    sampled = sum(name in known and known[name].sampled for name in request.metrics)
    if not sampled:
        return 0.0
    limits = sum(len(group.cases) * group.time_factor for group in groups)
    kinds = {(slot.environment, slot.case.preload) for group in groups for slot in group.slots}
    starts = sum(START_SECONDS if preload else PLAIN_START_SECONDS for _, preload in kinds)
    most = limits * sampled * request.policy.max_time + starts
    return most if request.budget is None else min(most, request.budget + starts)


def _still_true(
    earlier: Sequence[tuple[Case, Result]], new: Sequence[tuple[Case, Result]]
) -> Iterator[tuple[Case, Result]]:
    """Earlier results that no new one replaces. What a fleet gave up was measured nowhere: any
    node's result replaces it."""
    keys = {result.key() for _, result in new}
    measured = {(result.case_hash, result.metric, result.environment) for _, result in new}
    for case, result in earlier:
        nowhere = not result.node and not result.fingerprint
        thing = (result.case_hash, result.metric, result.environment)
        if result.key() not in keys and not (nowhere and thing in measured):
            yield case, result
