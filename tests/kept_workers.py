"""A pool whose workers stay for the next run of this process, as `Runner` lets many runs share one.

Importing torch takes seconds of processor time. A test that asks what is measured, and not how
workers start, may find one that an earlier test has started: each case still runs in a fresh child.
"""

from __future__ import annotations

import os
from collections.abc import Hashable

from opbench.children import _stays as stays_anyway
from opbench.workers.pool import Kind, Pool
from opbench.workers.process import Worker

#: Each holds its framework in memory.
MOST = 8

#: Of the test that is running, or of its terminal: no worker takes notice.
IGNORED = {"PYTEST_CURRENT_TEST", "COLUMNS"}

_kept: dict[Hashable, Worker] = {}


class KeptPool(Pool):
    def _start(self, kind: Kind, start: int) -> Worker:
        worker = _kept.pop(self._key(kind, start), None)
        if worker is None or not worker.alive:
            return super()._start(kind, start)
        worker.libraries = self.libraries.setdefault(kind.environment, {})
        return worker

    def close(self) -> None:
        for (kind, start), worker in list(self._workers.items()):
            if kind.preload and kind.rehearse is None and worker.alive and worker.idle:
                _kept[self._key(kind, start)] = self._workers.pop((kind, start))
        super().close()
        while len(_kept) > MOST:
            _kept.pop(next(iter(_kept))).close()

    def _key(self, kind: Kind, start: int) -> Hashable:
        """What a worker is started with; but for the folder, which is each test's own."""
        variables = ((k, v) for k, v in os.environ.items() if k not in IGNORED)
        return kind, start, self.cpus, frozenset(variables)


def stays(pid: int) -> bool:
    """Whether a command that ends in this process is to leave it running."""
    return pid in pids() or stays_anyway(pid)


def workers() -> list[Worker]:
    return list(_kept.values())


def pids() -> list[int]:
    return [worker.pid for worker in _kept.values()]


def end_all() -> None:
    while _kept:
        _kept.popitem()[1].close()
