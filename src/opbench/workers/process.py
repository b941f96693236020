"""The runner's handle on one worker: start it, open sessions in it, learn how they ended."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from opbench.errors import UserError
from opbench.worker import protocol
from opbench.worker.main import command
from opbench.workers.pace import pace_of
from opbench.workers.session import SessionEnded, SessionHandle
from opbench.workers.shared import Leased

#: Importing a framework on a loaded machine, for the first time, under Valgrind: minutes, not more.
START_TIMEOUT = 300.0

#: A missing module, or a missing library that a module needs.
MISSING = re.compile(
    r"ModuleNotFoundError: No module named '(?P<module>[^']+)'"
    r"|(?:OSError|ImportError): (?P<library>\S+\.so[.\d]*): cannot open shared object file"
)

#: The environment of a worker, unless the user sets these otherwise.
DEFAULTS = {
    # By its new name or the old one: on Arm, oneDNN writes a /tmp/perf-PID.map for every child.
    "ONEDNN_JIT_PROFILE": os.environ.get("DNNL_JIT_PROFILE", "0"),
    # A worker forks, so it must not touch CUDA; but torch's compiler asks for a GPU when it is
    # imported. With this, torch asks the driver's NVML.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # Code is compiled by the child that runs it: helpers of its own would outnumber the cores, and
    # most cases are one kernel.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    # Frameworks take the memory of results from malloc, and give it back with each call. It goes
    # back to the system, or does not, as small blocks happen to lie, and the next call takes up to
    # eight times as long. These are the largest thresholds that glibc takes by itself in a process
    # that lives long (32 MiB, and twice that), and room that a heap of another thread keeps, which
    # is given back as a whole otherwise.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "MALLOC_TOP_PAD_": str(64 << 20),
}

#: How often a silent worker is looked at, to see whether it still runs.
LOOK_SECONDS = 1.0

#: A child whose channel has closed is exiting; one that lives longer only closed its files.
EXIT_SECONDS = 2.0


def environment_of(added: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker."""
    return {**DEFAULTS, **os.environ, **added}


class WorkerError(UserError):
    """A worker could not be started; the message is one line for the user."""

    @property
    def ended(self) -> SessionEnded:
        """The outcome of its cases."""
        return SessionEnded("failed", str(self))


class NotInstalled(WorkerError):
    """The environment lacks the framework, so its cases are unsupported there."""

    @property
    def ended(self) -> SessionEnded:
        return SessionEnded("unsupported", str(self))


#: How the reason of a case begins that lost its workers.
WORKER_ENDED = "the worker"


#: Exit statuses of a process that somebody else has ended.
OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)


class WorkerDied(WorkerError):
    """A worker that was ready has ended, or does not answer: nothing its cases can be blamed for
    until it happens again."""


#: How often something is tried whose worker dies meanwhile: code that ends every worker it is given
#: must come to an end as well.
TRIES = 3

Answer = TypeVar("Answer")


def again_if_worker_dies(step: Callable[[], Answer]) -> Answer:
    """What a step gives; a step that loses its worker is done again, in the fresh one it gets."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(WorkerDied):
            return step()
    return step()


class Worker:
    """One started interpreter that has imported its framework and forks a child per session."""

    def __init__(
        self,
        python: str,
        preload: Sequence[str],
        *,
        start: int = 0,
        env: Mapping[str, str] | None = None,
        cpus: Sequence[int] = (),
        prefix: Sequence[str] = (),
        rehearse: str | None = None,
        libraries: Mapping[str, str] | None = None,
        leased: socket.socket | None = None,
    ) -> None:
        """With the control socket of a `leased` worker of the pool, that one instead."""
        self.python = python
        self.preload = tuple(preload)
        self.libraries = libraries
        #: Number of this worker start within the run: the unit of replication.
        self.start = start
        #: Of a start of the pool, by which results of several runs know that they share it.
        self.start_id = ""
        self.facts: dict = {}
        self._sessions: dict[int, SessionHandle] = {}
        self._next_session = 0
        # Read only to say why a start failed.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._ready = False
        self._lost = False
        self._process: subprocess.Popen | Leased
        if leased is not None:
            self._control, self._process = leased, Leased()
            return
        ours, theirs = protocol.control_pair()
        self._control = ours
        # Of fixed length: the command line shifts the stack, which an instruction count may show.
        descriptor = f"{theirs.fileno():05}"
        self._process = subprocess.Popen(
            [*prefix, *command(python, "parent", descriptor)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment_of(env or {}),
            # Out of the terminal's process group: Ctrl-C is ours to handle.
            start_new_session=True,
        )
        theirs.close()
        options: dict = {"preload": list(self.preload), "cpus": list(cpus)}
        if rehearse is not None:
            options["rehearse"] = rehearse  # only under Callgrind: see worker/callgrind
        with contextlib.suppress(OSError):  # it has ended already: `wait_ready` says why
            self._control.send(protocol.encode(options))

    # -- life ------------------------------------------------------------------------------

    def wait_ready(self, timeout: float = START_TIMEOUT) -> None:
        """Block until the framework is imported. Workers started together import in parallel."""
        if self._ready:
            return
        event = self._next_event(timeout)
        if event is None or event.get("event") != "ready":
            reason = (event or {}).get("reason") or self._last_line()
            killed = self._was_killed(event, reason)
            self._lost = True
            self.close()
            if killed:
                raise WorkerDied(f"{WORKER_ENDED} was killed while it started: {reason}")
            if missing := MISSING.match(reason):
                what = missing["module"] or missing["library"]
                raise NotInstalled(f"{what} is not installed for {self.python}")
            raise WorkerError(
                f"the worker for {', '.join(self.preload) or 'plain Python'} "
                f"({self.python}) did not start: {reason}"
            )
        if event["version"] != protocol.VERSION:
            self.close()
            raise WorkerError(f"worker has protocol {event['version']}, not {protocol.VERSION}")
        self.facts = event["facts"]
        if isinstance(self._process, Leased):
            self._process.found(event["pid"])
            self.start_id = str(event.get("start", ""))
        self._ready = True

    def _was_killed(self, event: dict | None, reason: str) -> bool:
        """Whether somebody else has ended it, or stopped it, before it was ready."""
        if isinstance(self._process, Leased):
            # Its supervisor says of a start that ended without a word that it has ended.
            return event is None or reason.startswith(f"{WORKER_ENDED} ended")
        return event is None and (self._process.poll() in OUTSIDE or self._stopped())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> bool:
        """Whether all of its sessions are closed."""
        return all(session.closed for session in self._sessions.values())

    @property
    def alive(self) -> bool:
        return not self._lost and self._process.poll() is None and not self._stopped()

    def let_go(self) -> None:
        """Kill its children and have it end, without waiting for that."""
        for session in list(self._sessions.values()):
            session.kill()
        self._sessions.clear()
        self._control.close()  # the worker exits when this closes

    def close(self) -> None:
        """End the worker and all its children; can be called twice."""
        self.let_go()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()

    # -- sessions --------------------------------------------------------------------------

    def open(self, *, memory_limit: int = 0) -> SessionHandle:
        """Fork a child. It waits for `prepare`."""
        self.wait_ready()
        number = self._next_session
        self._next_session += 1
        ours, theirs = protocol.session_pair()
        message = {"op": "open", "session": number, "memory_limit": memory_limit}
        try:
            socket.send_fds(self._control, [protocol.encode(message)], [theirs.fileno()])
        except OSError:
            raise self._died() from None
        finally:
            theirs.close()
        event = self._await("opened", number)
        channel = protocol.Channel(ours)
        session = SessionHandle(
            channel,
            event["pid"],
            self.start,
            number,
            self._ended,
            self.libraries,
            pace_of(self.python),
        )
        self._sessions[number] = session
        return session

    def reap(self, session: SessionHandle) -> None:
        """Kill a session and wait until its child is reaped."""
        session.kill()
        if self._sessions.pop(session.number, None) is not None:
            self._await("exited", session.number)

    def settle(self) -> None:
        """Wait until the children that were closed are gone: the kernel is busy with their memory
        for some milliseconds, and whoever is timed meanwhile is slower."""
        deadline = time.monotonic() + EXIT_SECONDS
        while any(session.closed for session in self._sessions.values()):
            event = self._next_event(deadline - time.monotonic())
            if event is None:
                return
            self._keep_end(event)

    def _ended(self, session: SessionHandle) -> SessionEnded:
        """How a session whose channel closed has ended."""
        event = self._event("exited", session.number, EXIT_SECONDS)
        if event is None:
            session.kill()
            event = self._await("exited", session.number)
            if os.WIFSIGNALED(event["status"]) and os.WTERMSIG(event["status"]) == signal.SIGKILL:
                return SessionEnded("failed", "it closed the harness's channel and kept running")
        self._sessions.pop(session.number, None)
        return SessionEnded.from_status(event["status"], event["output"], oom=event["oom"])

    def _await(self, kind: str, number: int) -> dict:
        """The given event of the given session, which any worker that is well sends at once."""
        event = self._event(kind, number, 60.0)
        if event is None:
            raise self._died()
        return event

    def _event(self, kind: str, number: int, timeout: float) -> dict | None:
        """The given event of the given session, or None; ends of others are recorded meanwhile."""
        deadline = time.monotonic() + timeout
        while True:
            event = self._next_event(deadline - time.monotonic())
            if event is None:
                return None
            if event["event"] == kind and event["session"] == number:
                return event
            self._keep_end(event)

    def _keep_end(self, event: dict) -> None:
        """Of a session that has exited, keep how: nobody was waiting to hear of it."""
        if event["event"] == "exited" and (session := self._sessions.pop(event["session"], None)):
            session.ended = SessionEnded.from_status(
                event["status"], event["output"], oom=event["oom"]
            )

    def _next_event(self, timeout: float) -> dict | None:
        if self._control.fileno() < 0:  # it was closed, while somebody still had a session in it
            return None
        deadline = time.monotonic() + timeout
        while not select.select([self._control], [], [], max(0.0, min(timeout, LOOK_SECONDS)))[0]:
            timeout = deadline - time.monotonic()
            if timeout <= 0 or self._stopped():
                return None
        try:
            data = self._control.recv(1 << 20)
        except OSError:
            return None
        if not data:
            return None
        return protocol.validate(protocol.decode(data), protocol.EVENTS, "event")

    def _stopped(self) -> bool:
        """Whether somebody has stopped the process: it will not answer, however long one waits."""
        try:
            status = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return False
        return status.rpartition(")")[2].split()[:1] == ["T"]

    def _died(self) -> WorkerDied:
        """What to raise; from here on the worker counts as ended, and its pool starts another."""
        reason = "was stopped" if self._stopped() else "ended or hangs"
        self._lost = True
        return WorkerDied(f"{WORKER_ENDED} {reason}: {self._last_line()}")

    def _last_line(self) -> str:
        if isinstance(self._process, Leased):
            return "it was a worker of the pool"
        if self._log.closed:
            return "it was closed"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)  # its sockets close a moment before it is gone
        status = self._process.poll()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        last = lines[-1] if lines else "it printed nothing"
        return last if status is None else f"{last} (exit status {status})"
