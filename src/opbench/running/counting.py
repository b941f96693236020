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
from typing import Any

from opbench.counting import instructions, valgrind
from opbench.counting.symbols import read_symbols
from opbench.plan.groups import Slot
from opbench.result import Metric
from opbench.running.state import RunState
from opbench.workers.pool import Kind
from opbench.workers.process import WorkerError, again_if_worker_dies
from opbench.workers.session import SessionEnded

#: A start under Valgrind costs as much as some ten cases: fewer do not deserve one more worker.
CASES_PER_WORKER = 10
#: Each holds a framework and its translation, about a gigabyte for torch.
MOST_WORKERS = 4
#: How often it is looked whether a thread has ended.
POLL_SECONDS = 0.05

Answers = queue.SimpleQueue[tuple[Slot, dict[str, Any] | SessionEnded] | BaseException]


def count(state: RunState, slots: Iterable[Slot]) -> None:
    """Measure the metrics that are counted under Callgrind, for the slots that lack them."""
    for metric in state.metrics:
        if metric.tool != "callgrind":
            continue
        kinds: dict[Kind, list[Slot]] = {}
        for slot in slots:
            if state.refusal(slot) is not None or state.has(slot, metric):
                continue
            reason = instructions.unsupported(slot.case)
            if reason:
                state.fail(slot, metric, SessionEnded("unsupported", reason))
                continue
            kind = state.pool.counting_kind(slot.case, slot.environment)
            kinds.setdefault(kind, []).append(slot)
        jobs = {kind: jobs_for(len(todo), state.request.jobs) for kind, todo in kinds.items()}
        if sum(jobs.values()) <= MOST_WORKERS:  # the others import while the first one counts
            for kind in list(jobs)[1:]:
                state.begin(kind, range(jobs[kind]))
        for kind, todo in kinds.items():
            _count_kind(state, metric, kind, todo, jobs[kind])


def jobs_for(cases: int, asked: int) -> int:
    most = asked or min(os.cpu_count() or 1, MOST_WORKERS, -(-cases // CASES_PER_WORKER))
    return max(1, min(most, cases))


def asked(state: RunState) -> dict[str, int]:
    """How many calls to count, where the user says so; else the worker decides by their length."""
    wanted = {"number": state.request.number, "repeats": state.request.repeats}
    return {name: value for name, value in wanted.items() if value is not None}


def _count_kind(
    state: RunState, metric: Metric, kind: Kind, slots: Sequence[Slot], jobs: int
) -> None:
    done: Answers = queue.SimpleQueue()
    stop = threading.Event()
    # Dealt out beforehand, not taken by whoever is free: the order of a run is then the same.
    threads = [
        threading.Thread(
            target=_work, args=(state, metric, kind, number, slots[number::jobs], done, stop)
        )
        for number in range(jobs)
    ]
    _announce(state, kind, slots, jobs)
    try:
        # Side by side, and with one message if they cannot start.
        workers = again_if_worker_dies(lambda: state.workers(kind, range(jobs)))
    except WorkerError as error:
        for slot in slots:
            state.fail(slot, metric, error.ended)
        return
    # While they count: torch's 700,000 symbols take as long to read as a dump.
    pids = [worker.pid for worker in workers]
    symbols = threading.Thread(target=read_symbols, args=(pids,), daemon=True)
    for thread in (symbols, *threads):
        thread.start()
    try:
        for _ in slots:
            answer = done.get()
            if isinstance(answer, BaseException):
                raise answer
            slot, counted = answer
            state.listener.measuring([slot.case])
            if isinstance(counted, SessionEnded):
                state.fail(slot, metric, counted)
                continue
            # Read here, while the worker that wrote it is already counting the next case.
            symbols.join()
            for result in instructions.results(slot.case, counted, state.place(slot)):
                state.keep(slot, result)
    finally:
        # On an interrupt the threads end with their workers, also with one that they just started.
        stop.set()
        for thread in threads:
            while thread.is_alive():
                state.pool.discard(kind)
                thread.join(POLL_SECONDS)
        state.pool.discard(kind)


def _announce(state: RunState, kind: Kind, slots: Sequence[Slot], jobs: int) -> None:
    """Say how long it will take, from the times that this run has measured, where it has."""
    time_metric = next((metric for metric in state.metrics if metric.name == "time"), None)
    known = [state.latest(slot, time_metric) if time_metric else None for slot in slots]
    natively = [result.estimate if result is not None else None for result in known]
    starts = bool(kind.preload) and not state.pool.has(kind, range(jobs))
    request = state.request
    seconds = instructions.expected_seconds(
        natively[::jobs], starts, request.number, request.repeats
    )
    state.listener.counting(len(slots), jobs, seconds)


def _work(
    state: RunState,
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
            done.put((slot, _counted(state, metric, kind, number, slot, stop)))
        except BaseException as error:
            if not stop.is_set():
                done.put(error)
            return


def _counted(
    state: RunState, metric: Metric, kind: Kind, number: int, slot: Slot, stop: threading.Event
) -> dict[str, Any] | SessionEnded:
    """One case in a fresh child; whatever it does there is its outcome, and no other case's."""
    case = slot.case
    timeout = state.request.policy.timeout * valgrind.SLOWDOWN

    def counted() -> dict[str, Any]:
        if stop.is_set():  # its worker did not die: it was ended
            raise WorkerError("the run has ended")
        worker = state.pool.workers(kind, [number])[0]
        session = worker.open(memory_limit=state.memory_limit(case))
        try:
            session.prepare(case, case.seed, timeout)
            return session.measure(metric.name, {"name": case.id, **asked(state)}, timeout)
        finally:
            # Killed: Valgrind would write one more dump at an orderly end.
            with contextlib.suppress(WorkerError):  # what was counted is counted
                worker.reap(session)

    try:
        return again_if_worker_dies(counted)
    except SessionEnded as ended:
        if ended.outcome == "timeout":
            ended.reason += (
                "; under Valgrind code runs some fifty times slower: give --timeout more, or the "
                "statement less to do"
            )
        return ended
    except WorkerError as error:
        return SessionEnded("failed", str(error))
