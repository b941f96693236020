"""A pool of its own for each test: real supervisor, real workers of plain Python."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opbench.workers.process import Worker, environment_of
from opbench.workers.shared import NoSupervisor, Supervisor


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's supervisor listens; a path too long for the address of a socket."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.delenv("CI", raising=False)
    return folder


@pytest.fixture
def connect(runtime: Path, eventually: Callable[..., bool]) -> Iterator[Callable[..., Supervisor]]:
    made: list[Supervisor] = []

    def make(**limits: float) -> Supervisor:
        made.append(Supervisor(limits=limits))
        return made[-1]

    yield make
    for supervisor in made:
        supervisor.close()
    try:
        last = Supervisor(begin=False)
    except NoSupervisor:
        pass
    else:
        last.retire()
        last.close()
    for pid in {each.pid for each in made}:
        if not eventually(lambda pid=pid: not is_alive(pid)):
            os.kill(pid, signal.SIGKILL)
            pytest.fail("a supervisor did not end when it was asked to")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def lease() -> Iterator[Callable[..., Worker]]:
    """A worker from a start of the pool, ready."""
    leased: list[Worker] = []

    def make(
        supervisor: Supervisor, *preload: str, start: int = 0, wait: bool = True, **env: str
    ) -> Worker:
        control = supervisor.lease(
            sys.executable, preload, start=start, env=environment_of(env), cpus=()
        )
        worker = Worker(sys.executable, preload, start=start, leased=control)
        leased.append(worker)
        if wait:
            worker.wait_ready()
        return worker

    yield make
    for worker in leased:
        worker.close()
