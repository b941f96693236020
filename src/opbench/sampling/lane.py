"""A lane: one case in one child of one worker start, and the samples it has given so far."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opbench.case import Case
from opbench.plan.policy import Policy
from opbench.result import Sample
from opbench.stats.contention import computes
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded, SessionHandle

#: A block may take this many times longer than foreseen before the child counts as hung.
SLOWEST_BLOCK = 50.0


@dataclass
class Lane:
    case: Case
    session: SessionHandle
    policy: Policy
    start: int
    #: Of a worker start of the pool: see `Worker.start_id`.
    start_id: str = ""
    n: int = 1
    per_call: float = 0.0
    #: Memory this child holds beyond what it shares with its worker.
    own_bytes: int = 0
    #: The same on the GPU, and all that the GPU has; zeros where there is none.
    device_bytes: int = 0
    device_total: int = 0
    #: Seconds the runner has spent on this lane, set-up included.
    spent: float = 0.0
    warmup: dict[str, Any] = field(default_factory=dict)
    #: Whether it was begun.
    warming_up: bool = False
    #: By metric; and why the child has none of a metric.
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    refused: dict[str, SessionEnded] = field(default_factory=dict)
    #: What the metric saw with each block: clocks of the GPU, where its number is from.
    seen: list[dict[str, Any]] = field(default_factory=list)
    #: Work that the setup went on without, by name, with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Whether somebody else goes on with it, and closes it.
    adopted: bool = False
    #: Where its blocks begin; None for wherever the system has it.
    cpu: int | None = None
    #: How many untimed calls a block begins with, and the seconds from which on it needs none.
    untimed: int = 1
    long_block: float = math.inf
    #: The least share of a block's calls that precede it untimed, where it first fills the caches
    #: again and takes a block that fetched memory again; None where it does neither.
    refill: float | None = None
    #: Whether its next block is its first, and nothing has warmed it up.
    young: bool = False
    #: Seconds its next block may wait for a core that nobody shares; and all of them have waited.
    patience: float = 0.0
    waited: float = 0.0

    @property
    def open(self) -> bool:
        return not self.adopted and not self.session.closed

    def close(self) -> None:
        self.session.close()

    @classmethod
    def fork(cls, worker: Worker, case: Case, policy: Policy, seed: int, memory_limit: int) -> Lane:
        """Fork, set up. The lane is paused until its turn comes."""
        lane = cls.begin(worker, case, policy, seed, memory_limit)
        lane.finish_setup()
        return lane

    @classmethod
    def begin(
        cls, worker: Worker, case: Case, policy: Policy, seed: int, memory_limit: int
    ) -> Lane:
        """Fork, and let the child set up meanwhile."""
        began = time.monotonic()
        session = worker.open(memory_limit=memory_limit)
        lane = cls(case, session, policy, worker.start, worker.start_id)
        with lane._in_setup():
            session.begin_prepare(case, seed)
        lane.spent = time.monotonic() - began
        return lane

    def finish_setup(self) -> None:
        began = time.monotonic()
        with self._in_setup():
            answer = self.session.finish_prepare(self.policy.timeout)
        self.left_out = answer.get("left_out", {})
        self.session.pause()
        self.spent += time.monotonic() - began

    @contextlib.contextmanager
    def _in_setup(self) -> Iterator[None]:
        try:
            yield
        except SessionEnded as ended:
            ended.in_setup = True
            self.session.close()
            raise

    def warm_up(self, seconds: float) -> None:
        self.begin_warm_up(seconds)
        self.finish_warm_up()

    def begin_warm_up(self, seconds: float) -> None:
        """Without waiting for it: several can do so side by side."""
        self.session.begin_warm_up(seconds, self.policy.block_seconds)
        self.warming_up = True

    def finish_warm_up(self) -> None:
        began = time.monotonic()
        self.warming_up = False
        answer = self.session.finish_warm_up(self.policy.timeout)
        self.session.pause()
        self.warmup = {key: answer[key] for key in ("first", "calls", "settled")}
        self.n = answer["n"]
        self.per_call = answer["per_call"] or 0.0
        self._note_memory(answer)
        self.spent += time.monotonic() - began

    def _note_memory(self, answer: dict[str, Any]) -> None:
        self.own_bytes = max(self.own_bytes, answer["peak_bytes"])
        self.device_bytes, self.device_total = answer.get("device_bytes") or (0, 0)

    def prepare_again(self, seed: int) -> None:
        """A fresh layer, fresh inputs: the next run of a fixed design."""
        began = time.monotonic()
        self.session.prepare(self.case, seed, self.policy.timeout)
        self.spent += time.monotonic() - began

    def block(self, metric: str, order: int, n: int | None = None) -> Sample:
        """Its turn: wake, measure one block, pause again."""
        sample = self._block(metric, order, n)
        self.samples.setdefault(metric, []).append(sample)
        return sample

    def try_block(self, metric: str, order: int, n: int | None = None) -> None:
        """A block of another metric in the same turn. What it cannot do ends only itself."""
        if metric in self.refused:
            return
        try:
            self.block(metric, order, n)
        except SessionEnded as ended:
            if not self.session.recover():
                raise
            self.refused[metric] = ended

    def look(self, metric: str) -> Sample:
        """One more block after its samples were taken, which does not join them."""
        return self._block(metric, 0, None)

    def _block(self, metric: str, order: int, n: int | None) -> Sample:
        began = time.monotonic()
        n = n or self.n
        # Without a warm-up nothing is known of a call: each of them may take its time.
        unknown = n if not self.per_call else 1
        timeout = self.policy.timeout * unknown + SLOWEST_BLOCK * n * self.per_call
        answer = self.session.block(
            metric,
            n,
            timeout,
            self.cpu,
            self.untimed,
            self.long_block,
            self.refill,
            self.patience,
            self.young,
        )
        self.young = False
        self.waited += answer.get("waited_ns", 0) / 1e9
        self.session.pause()
        sample = Sample(
            value=answer["value"],
            start=self.start,
            session=self.session.number,
            order=order,
            n=answer["n"],
            wall_ns=answer["wall_ns"],
            cpu_ns=answer["cpu_ns"],
            switches=answer["switches"],
            queued_ns=answer["queued_ns"],
            contended=bool(
                (answer.get("shared") and computes(answer["wall_ns"], answer["cpu_ns"]))
                or (answer.get("seen") or {}).get("slowdown")
            ),
        )
        if answer.get("seen"):
            self.seen.append({"order": order, "metric": metric, **answer["seen"]})
        self._note_memory(answer)
        self.spent += time.monotonic() - began
        return sample
