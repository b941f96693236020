"""What the passes of a run share: what is asked for, the workers, and what is measured so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from typing import Any

from opbench.case import Case
from opbench.plan.budget import Budget
from opbench.plan.groups import PlannedGroup, Slot
from opbench.plan.metrics import metrics
from opbench.plan.place import Places
from opbench.plan.request import Request
from opbench.result import Key, Metric, Result, result_key
from opbench.running.listener import Listener
from opbench.running.pooling import supervisor_for
from opbench.sampling import outcome
from opbench.stats.start_variance import StartVariances
from opbench.workers.pool import Kind, Pool
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded

#: A child may take this share of the memory that was free when the run began.
CHILD_MEMORY_SHARE = 0.8

#: Receives each result as soon as it exists; the flag says that it replaces an earlier one.
Sink = Callable[[Case, Result, bool], None]


class RunState:
    def __init__(
        self,
        request: Request,
        sink: Sink,
        listener: Listener,
        done: Collection[Key],
        facts: dict[str, Any],
        pool: Pool | None,
    ) -> None:
        self.request, self.sink, self.listener = request, sink, listener
        #: Keys of what need not be measured again.
        self.done = set(done)
        #: The results of this run, each once.
        self.results: dict[Key, tuple[Case, Result]] = {}
        self.metrics = [metrics()[name] for name in request.metrics]
        self.places = Places(facts, request.policy)
        self.memory_free = int((facts.get("load") or {}).get("memory_available") or 0)
        self.pool = pool or Pool(
            request.cases,
            cpus=request.cpus,
            memory_free=self.memory_free,
            supervisor=supervisor_for(request, listener),
            notice=listener.notice,
        )
        self.rng = random.Random(request.seed)
        self.budget: Budget | None = None
        #: What the cases so far have shown of this machine.
        self.start_variances = StartVariances()
        #: Groups whose intervals are wider than asked.
        self.wide: list[PlannedGroup] = []
        #: Why what a case computes was compared with nobody's, although others compute the same.
        self.unchecked: dict[Slot, str] = {}
        self._refused: dict[Slot, SessionEnded] = {}

    # -- workers ---------------------------------------------------------------------------

    def workers(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        self.begin(kind, starts)
        return self.pool.workers(kind, starts)

    def begin(self, kind: Kind, starts: Sequence[int]) -> None:
        """Have workers started that will be asked for; they import meanwhile."""
        if not self.pool.has(kind, starts):
            packages = dict.fromkeys(name.partition(".")[0] for name in kind.preload)
            self.listener.starting_workers(", ".join(packages) or "Python")
            self.pool.begin(kind, starts)

    def workers_of(self, slot: Slot, starts: Sequence[int] = (0,)) -> list[Worker]:
        return self.workers(self.pool.kind(slot.case, slot.environment), starts)

    def memory_limit(self, case: Case) -> int:
        """Bytes a child may hold; on a GPU the driver's address space makes such limits useless."""
        return int(self.memory_free * CHILD_MEMORY_SHARE) if case.device == "cpu" else 0

    # -- cases that are not tried ----------------------------------------------------------

    def refusal(self, slot: Slot) -> SessionEnded | None:
        """Why a case is not even tried: it is known to be unsupported, or does not compile."""
        for reason in (slot.case.unsupported, slot.environment.broken):
            if reason:
                return SessionEnded("unsupported", reason)
        return self._refused.get(slot)

    def refuse(self, slot: Slot, ended: SessionEnded) -> None:
        self._refused[slot] = ended

    def keep_refusal(self, slot: Slot) -> None:
        """One result per metric for a slot that is not tried."""
        ended = self.refusal(slot)
        for metric in self.metrics:
            if ended is not None and not self.has(slot, metric):
                self.fail(slot, metric, ended)

    # -- results ---------------------------------------------------------------------------

    def place(self, slot: Slot, group: str = "") -> dict[str, Any]:
        return self.places.of(slot.environment, group)

    def key(self, slot: Slot, metric: Metric) -> Key:
        place = self.place(slot)
        where = (place["environment"], place["fingerprint"], place["policy"])
        return result_key(slot.case.hash, metric.name, *where)

    def has(self, slot: Slot, metric: Metric) -> bool:
        return self.key(slot, metric) in self.done

    def has_all(self, slot: Slot) -> bool:
        return all(self.has(slot, metric) for metric in self.metrics)

    def latest(self, slot: Slot, metric: Metric) -> Result | None:
        found = self.results.get(self.key(slot, metric))
        return found[1] if found else None

    def fail(self, slot: Slot, metric: Metric, ended: SessionEnded) -> None:
        self.keep(slot, outcome.failure(slot.case, metric, ended, self.place(slot)))

    def keep(self, slot: Slot, result: Result, replacing: bool = False) -> None:
        if slot in self.unchecked and result.ok:
            result = result.with_warning(
                "unchecked",
                f"what this computes was not compared with the others: {self.unchecked[slot]}; "
                "check it yourself before you compare its time",
            )
        self.replace(slot.case, result, replacing)
        self.done.add(result.key())
        self.listener.measured(slot.case, result)

    def replace(self, case: Case, result: Result, replacing: bool = True) -> None:
        """Hand a result on without telling the listener: the case was measured before."""
        self.sink(case, result, replacing)
        self.results[result.key()] = (case, result)
