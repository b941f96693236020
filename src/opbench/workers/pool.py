"""The workers of a run: started when first needed, several of each kind, then reused."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opbench import children, frameworks
from opbench.case import Case
from opbench.counting import valgrind
from opbench.envs.environments import Environment
from opbench.workers.process import Worker, environment_of
from opbench.workers.shared import PoolError, Supervisor

#: Idle workers hold a framework each; a run with many kinds closes the least recently used ones.
#: This many are always kept,
MIN_KEPT = 16
#: and more where idle ones, of this size each, fit in that share of the free memory: a worker that
#: is closed and needed again for the next case costs an import every time.
IDLE_BYTES, IDLE_SHARE = 200e6, 0.25


@dataclass(frozen=True)
class Kind:
    """What a worker is started with. Cases of one kind can be forked from one worker."""

    environment: Environment
    preload: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    #: Under Callgrind: code the worker runs once, so that its children find it translated.
    rehearse: str | None = None


class Pool:
    def __init__(
        self,
        cases: Iterable[Case] = (),
        *,
        cpus: Sequence[int] = (),
        memory_free: int = 0,
        supervisor: Supervisor | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        """With a `supervisor`, workers come from the starts that it keeps; `notice` hears, once for
        each reason, why some do not."""
        self.cpus = tuple(cpus)
        self.max_alive = max(MIN_KEPT, int(memory_free * IDLE_SHARE / IDLE_BYTES))
        #: Everything the cases of a framework preload: one kind of worker then serves them all.
        self._preload: dict[str, dict[str, None]] = {}
        for case in cases:
            self.preload(case.framework, case.preload)
        #: Compiled C++ statements of each environment: see `opbench.counting.statements`.
        self.libraries: dict[Environment, dict[str, str]] = {}
        self._workers: dict[tuple[Kind, int], Worker] = {}
        self._lock = threading.Lock()  # instructions are counted by several threads
        #: Callgrind's dumps, until they are read.
        self._dumps: Path | None = None
        self._supervisor = supervisor
        self._notice = notice
        self._refusals: set[str] = set()
        #: How long worker starts took, for the breakdown of a run's time.
        self.start_seconds = 0.0

    def preload(self, framework: str, modules: Iterable[str]) -> None:
        """Have the workers of a framework import these before they fork."""
        self._preload.setdefault(framework, {}).update(dict.fromkeys(modules))

    def kind(self, case: Case, environment: Environment) -> Kind:
        env = frameworks.get(case.framework).thread_env(case.threads) | environment.variables()
        preload = tuple(self._preload.get(case.framework) or case.preload)
        return Kind(environment, preload, tuple(sorted(env.items())))

    def counting_kind(self, case: Case, environment: Environment) -> Kind:
        """The kind of worker that counts the case's instructions."""
        plain = self.kind(case, environment)
        env = {**dict(plain.env), **valgrind.ENVIRONMENT}
        framework = frameworks.get(case.framework)
        # What other cases preload would change the memory that this one finds, and its count. So
        # what is imported follows from the case alone: from its text, unless a module of the
        # user's hides what it calls.
        stage = "forward_backward"
        if case.module is None:
            stage = framework.counting_stage(case.source)
        preload = dict.fromkeys((*case.preload, *framework.preload(stage)))
        return replace(
            plain,
            preload=tuple(preload),
            env=tuple(sorted(env.items())),
            rehearse=framework.rehearsal(),
        )

    def begin(self, kind: Kind, starts: Sequence[int]) -> None:
        """Start workers that will be asked for; they import meanwhile."""
        with self._lock:
            self._chosen(kind, starts)

    def workers(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        """Live workers for the given start numbers; new ones import in parallel."""
        began = time.monotonic()
        with self._lock:
            chosen = self._chosen(kind, starts)
        for worker in chosen:
            worker.wait_ready()
        self.start_seconds += time.monotonic() - began
        return chosen

    def _chosen(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        chosen = []
        for start in starts:
            worker = self._workers.get((kind, start))
            if worker is not None and not worker.alive:
                worker.close()
                worker = None
            if worker is None:
                self._make_room(kind, starts)
                worker = self._start(kind, start)
            self._workers.pop((kind, start), None)
            self._workers[(kind, start)] = worker  # most recently used last
            chosen.append(worker)
        return chosen

    def settle(self) -> None:
        """Wait until the children that were closed are gone."""
        for worker in list(self._workers.values()):
            worker.settle()

    def discard(self, kind: Kind) -> None:
        """Close the workers of a kind that will not be needed again."""
        with self._lock:
            for key in [key for key in self._workers if key[0] == kind]:
                self._workers.pop(key).close()

    def _start(self, kind: Kind, start: int) -> Worker:
        env = dict(kind.env)
        libraries = self.libraries.setdefault(kind.environment, {})
        leased = self._leased(kind, start)
        if leased is not None:
            python = kind.environment.python
            return Worker(python, kind.preload, start=start, libraries=libraries, leased=leased)
        prefix: tuple[str, ...] = ()
        if kind.rehearse is not None:
            if self._dumps is None:
                self._dumps = Path(tempfile.mkdtemp(prefix="opbench-callgrind-"))
                children.remove_at_end(self._dumps)
            prefix, out = valgrind.command(str(self._dumps))
            env.update(out)
        return Worker(
            kind.environment.python,
            kind.preload,
            start=start,
            env=env,
            cpus=self.cpus,
            prefix=prefix,
            rehearse=kind.rehearse,
            libraries=libraries,
        )

    def _leased(self, kind: Kind, start: int) -> socket.socket | None:
        """A worker of the supervisor; None where it has none to give."""
        if self._supervisor is None:
            return None
        env, prefix = dict(kind.env), tuple[str, ...]()
        if kind.rehearse is not None:
            # One folder for all commands: it is part of what a start is made of.
            prefix, out = valgrind.command(valgrind.shared_folder())
            env.update(out)
        try:
            return self._supervisor.lease(
                kind.environment.python,
                kind.preload,
                start=start,
                env=environment_of(env),
                cpus=self.cpus,
                prefix=prefix,
                rehearse=kind.rehearse,
            )
        except PoolError as error:
            if self._notice is not None and str(error) not in self._refusals:
                self._notice(f"{error}; more workers start fresh")
            self._refusals.add(str(error))
            return None

    def has(self, kind: Kind, starts: Sequence[int]) -> bool:
        return all((kind, start) in self._workers for start in starts)

    def _make_room(self, kind: Kind, starts: Sequence[int]) -> None:
        """Close the least recently used, other kinds first; never a worker in use."""
        spare = [
            key
            for key, worker in self._workers.items()
            if worker.idle and not (key[0] == kind and key[1] in starts)
        ]
        spare.sort(key=lambda key: key[0] == kind)
        while len(self._workers) >= self.max_alive and spare:
            self._workers.pop(spare.pop(0)).close()

    def close(self) -> None:
        for worker in self._workers.values():
            worker.let_go()  # so that they end at the same time
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        if self._supervisor is not None:
            self._supervisor.close()
        if self._dumps is not None:
            shutil.rmtree(self._dumps, ignore_errors=True)
            self._dumps = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
