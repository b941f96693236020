"""The last part of a run: instructions of every case, by workers under Callgrind side by side.

Counts do not mind company, so several workers share the cases; times do, so this begins when the
last time has been taken. Results are kept by the calling thread alone, one by one.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from opbench.counting import instructions, valgrind
from opbench.plan.groups import Slot
from opbench.result import Metric
from opbench.sampling import outcome
from opbench.workers.pool import Kind
from opbench.workers.process import WorkerError
from opbench.workers.session import SessionEnded

if TYPE_CHECKING:
    from opbench.running.runner import Runner

#: A start under Valgrind costs as much as some ten cases: fewer do not deserve one more worker.
CASES_PER_WORKER = 10
#: Each holds a framework and its translation, about a gigabyte for torch.
MOST_WORKERS = 4

Answers = queue.SimpleQueue[tuple[Slot, dict[str, Any] | SessionEnded] | BaseException]


def count(runner: Runner, slots: Iterable[Slot]) -> None:
    """Measure the metrics that are counted under Callgrind, for the slots that lack them."""
    for metric in runner.metrics():
        if metric.under != "callgrind":
            continue
        kinds: dict[Kind, list[Slot]] = {}
        for slot in slots:
            if runner.refusal(slot) is not None or runner.has(slot, metric):
                continue
            reason = instructions.unsupported(slot.case)
            if reason:
                place = runner.places.of(slot.environment)
                runner.keep(slot, outcome.unsupported(slot.case, metric, reason, place))
                continue
            kind = runner.pool.counting_kind(slot.case, slot.environment)
            kinds.setdefault(kind, []).append(slot)
        for kind, todo in kinds.items():
            _count_kind(runner, metric, kind, todo)


def jobs_for(cases: int, asked: int) -> int:
    most = asked or min(os.cpu_count() or 1, MOST_WORKERS, -(-cases // CASES_PER_WORKER))
    return max(1, min(most, cases))


def _count_kind(runner: Runner, metric: Metric, kind: Kind, slots: Sequence[Slot]) -> None:
    jobs = jobs_for(len(slots), runner.request.jobs)
    done: Answers = queue.SimpleQueue()
    stop = threading.Event()
    # Dealt out beforehand, not taken by whoever is free: what a worker has served before leaves
    # traces in its memory, which its later children inherit and some counts show.
    threads = [
        threading.Thread(
            target=_work, args=(runner, metric, kind, number, slots[number::jobs], done, stop)
        )
        for number in range(jobs)
    ]
    try:
        runner.workers(kind, range(jobs))  # side by side, and with one message if they cannot start
    except WorkerError as error:
        ended = error.ended
        for slot in slots:
            place = runner.places.of(slot.environment)
            runner.keep(slot, outcome.failure(slot.case, metric, ended, place))
        return
    for thread in threads:
        thread.start()
    try:
        for _ in slots:
            answer = done.get()
            if isinstance(answer, BaseException):
                raise answer
            slot, counted = answer
            runner.listener.measuring([slot.case])
            place = runner.places.of(slot.environment)
            if isinstance(counted, SessionEnded):
                runner.keep(slot, outcome.failure(slot.case, metric, counted, place))
                continue
            # Read here, while the worker that wrote it is already counting the next case.
            for result in instructions.results(slot.case, counted, place):
                runner.keep(slot, result)
    finally:
        # On an interrupt the workers are ended by the pool, and the threads with them.
        stop.set()
        runner.pool.discard(kind)
        for thread in threads:
            thread.join()


def _work(
    runner: Runner,
    metric: Metric,
    kind: Kind,
    number: int,
    slots: Sequence[Slot],
    done: Answers,
    stop: threading.Event,
) -> None:
    for slot in slots:
        if stop.is_set():
            return
        try:
            done.put((slot, _one(runner, metric, kind, number, slot)))
        except BaseException as error:
            if not stop.is_set():
                done.put(error)
            return


def _one(
    runner: Runner, metric: Metric, kind: Kind, number: int, slot: Slot
) -> dict[str, Any] | SessionEnded:
    """One case in a fresh child; whatever it does there is its outcome, and no other case's."""
    case = slot.case
    timeout = runner.request.policy.timeout * valgrind.SLOWDOWN
    try:
        worker = runner.pool.workers(kind, [number])[0]
        session = worker.open(memory_limit=runner.limit(case))
        try:
            session.prepare(case, case.seed, timeout)
            return session.measure(metric.name, {"name": case.id}, timeout)
        finally:
            # Killed: Valgrind would write one more dump at an orderly end. And gone before the next
            # is asked for: which of both the worker sees first would leave traces in its memory.
            with contextlib.suppress(WorkerError):  # what was counted is counted
                worker.reap(session)
    except SessionEnded as ended:
        return ended
    except WorkerError as error:
        return SessionEnded("failed", str(error))
