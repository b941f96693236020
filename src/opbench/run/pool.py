"""The workers of a run: started when first needed, several starts of each kind, then reused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opbench import frameworks
from opbench.case import Case
from opbench.run.environments import Environment
from opbench.run.worker_process import Worker

#: Idle workers hold a framework each (some 150 MB of mostly shared pages); a run with many kinds
#: closes the ones it has not used for longest.
MOST_ALIVE = 16


@dataclass(frozen=True)
class Kind:
    """What a worker is started with. Cases of one kind can be forked from one worker."""

    environment: Environment
    preload: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


class Pool:
    def __init__(self, cases: Iterable[Case] = (), *, cpus: Sequence[int] = ()) -> None:
        self.cpus = tuple(cpus)
        #: All that the cases of one framework preload: one kind of worker then serves them all.
        self._preload: dict[str, dict[str, None]] = {}
        for case in cases:
            self._preload.setdefault(case.framework, {}).update(dict.fromkeys(case.preload))
        self._workers: dict[tuple[Kind, int], Worker] = {}
        #: How long worker starts took, for the account of where the time went.
        self.start_seconds = 0.0

    def kind(self, case: Case, environment: Environment) -> Kind:
        env = frameworks.get(case.framework).thread_env(case.threads) | environment.variables()
        preload = tuple(self._preload.get(case.framework) or case.preload)
        return Kind(environment, preload, tuple(sorted(env.items())))

    def workers(self, kind: Kind, starts: Sequence[int]) -> list[Worker]:
        """Live workers for the given start numbers; new ones import side by side."""
        began = time.monotonic()
        chosen = []
        for start in starts:
            worker = self._workers.get((kind, start))
            if worker is not None and not worker.alive:
                worker.close()
                worker = None
            if worker is None:
                self._make_room(kind)
                worker = Worker(
                    kind.environment.python,
                    kind.preload,
                    start=start,
                    env=dict(kind.env),
                    cpus=self.cpus,
                )
            self._workers.pop((kind, start), None)
            self._workers[(kind, start)] = worker  # the most recently used stands last
            chosen.append(worker)
        for worker in chosen:
            worker.wait_ready()
        self.start_seconds += time.monotonic() - began
        return chosen

    def has(self, kind: Kind, starts: Sequence[int]) -> bool:
        return all((kind, start) in self._workers for start in starts)

    def _make_room(self, kind: Kind) -> None:
        others = [key for key in self._workers if key[0] != kind]
        while len(self._workers) >= MOST_ALIVE and others:
            self._workers.pop(others.pop(0)).close()

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
