"""The client of the pool of starts that outlives a command (`opbench.worker.pool`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opbench.errors import UserError
from opbench.worker import protocol
from opbench.worker.main import command
from opbench.worker.pool import folder, peer, surroundings, wire

#: The supervisor answers in a millisecond; on a machine with no CPU to spare, in a second.
ANSWER_SECONDS = 5.0
#: One may end just when we connect, another may be of an older version: then the next one serves.
TRIES = 3


class PoolError(UserError):
    """The pool cannot be used; workers are started without it."""


class Leased:
    """The process of a leased worker: not our child, so watched through a descriptor."""

    def __init__(self) -> None:
        self.pid = 0
        self._fd = -1

    def found(self, pid: int) -> None:
        """Its pid, once it has announced itself."""
        self.pid = pid
        with contextlib.suppress(OSError):  # it has ended already
            self._fd = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """None while it lives, as of `subprocess.Popen`; what it exits with, nobody tells us."""
        if not self.pid:
            return None
        return 0 if self._fd < 0 or select.select([self._fd], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        if self.pid and self._fd >= 0:
            if not select.select([self._fd], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
            os.close(self._fd)
            self._fd = -1
        return 0


class Supervisor:
    """A connection to the supervisor, begun if there is none. Closing it ends all leases."""

    def __init__(self, *, begin: bool = True, limits: Mapping[str, float] | None = None) -> None:
        self._limits = dict(limits or {})
        #: Of the supervisor.
        self.pid = 0
        for _ in range(TRIES):
            found = self._connected(begin)
            if found is not None:
                self._sock = found
                return
        raise PoolError("the pool of workers does not start")

    def lease(
        self,
        python: str,
        preload: Sequence[str],
        *,
        start: int,
        env: Mapping[str, str],
        cpus: Sequence[int],
        prefix: Sequence[str] = (),
        rehearse: str | None = None,
    ) -> socket.socket:
        """The control socket of a worker that announces itself when it is ready.

        `prefix` and `rehearse` are those of a worker that counts instructions.
        """
        try:
            inherited = surroundings.collect()
        except OSError as error:  # the working directory was deleted
            raise PoolError(f"what workers inherit cannot be read: {error}") from None
        spec: dict[str, Any] = {
            "command": [*prefix, *command(python, "parent")],
            "preload": list(preload),
            "cpus": list(cpus),
            "env": surroundings.variables(env),
            "surroundings": inherited,
        }
        if rehearse is not None:
            spec["rehearse"] = rehearse
        _, fds = self._ask({"op": "lease", "spec": spec, "start": start}, "leased")
        return socket.socket(fileno=fds[0])

    def starts(self) -> list[dict[str, Any]]:
        answer, _ = self._ask({"op": "list"}, "list")
        found: list[dict[str, Any]] = answer["starts"]
        return found

    def retire(self) -> tuple[int, int]:
        """End all starts: how many at once, how many with the commands that use them."""
        answer, _ = self._ask({"op": "retire"}, "retired")
        return answer["ended"], answer["in_use"]

    def close(self) -> None:
        self._sock.close()

    # -- the connection --------------------------------------------------------------------

    def _connected(self, begin: bool) -> socket.socket | None:
        """A connection to a supervisor of this version; None where there is none yet."""
        try:
            place = folder.Folder(folder.path())
        except folder.Unsafe as error:
            raise PoolError(str(error)) from None
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(ANSWER_SECONDS)
        try:
            sock.connect(place.entry(folder.SOCKET))
        except OSError:
            sock.close()
            if not begin:
                raise NoSupervisor from None
            _begin(place.path, self._limits)
            return None
        finally:
            place.close()
        return self._welcomed(sock)

    def _welcomed(self, sock: socket.socket) -> socket.socket | None:
        if peer.credentials(sock)[1] != os.getuid():
            sock.close()
            raise PoolError("the pool of workers belongs to another user")
        self._sock = sock
        try:
            hello, _ = self._answer("hello")
        except _Ended:
            return None
        if hello["build"] == wire.build():
            self.pid = hello["pid"]
            return sock
        # Of another version of opbench: it makes place, and ends what it keeps.
        with contextlib.suppress(_Ended):
            self.retire()
        sock.close()
        return None

    def _ask(self, request: dict[str, Any], expected: str) -> tuple[dict[str, Any], list[int]]:
        try:
            self._sock.sendall(protocol.encode(request))
        except OSError:
            raise _Ended("the supervisor of the pool has ended") from None
        return self._answer(expected)

    def _answer(self, expected: str) -> tuple[dict[str, Any], list[int]]:
        data, fds = b"", list[int]()
        deadline = time.monotonic() + ANSWER_SECONDS
        try:
            while not data.endswith(b"\n"):
                self._sock.settimeout(max(0.001, deadline - time.monotonic()))
                piece, more, _, _ = socket.recv_fds(self._sock, 1 << 16, 1)
                if not piece:
                    raise _Ended("the supervisor of the pool has ended")
                data, fds = data + piece, fds + more
            found = protocol.validate(protocol.decode(data), wire.ANSWERS, "event")
        except TimeoutError:
            raise PoolError("the supervisor of the pool does not answer") from None
        except (OSError, protocol.ProtocolError) as error:
            raise _Ended(f"the supervisor of the pool has ended: {error}") from None
        if found["event"] == "refused":
            raise PoolError(found["reason"])
        if found["event"] != expected:
            raise PoolError(f"the supervisor of the pool answered {found['event']!r}")
        return found, fds


class _Ended(PoolError):
    pass


class NoSupervisor(PoolError):
    """There is no pool."""


def _begin(where: str, limits: Mapping[str, float]) -> None:
    """Start a supervisor, and wait until it listens or another one has been faster."""
    python, *rest = command(sys.executable, "pool.supervisor")
    read_end, write_end = os.pipe()
    try:
        subprocess.run(
            # Needs nothing of what is installed or set here: -I and -S leave it out.
            [python, "-I", "-S", *rest, where, str(write_end), json.dumps(dict(limits))],
            pass_fds=[write_end],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd=Path("/"),
            timeout=ANSWER_SECONDS * 2,
        )
        os.close(write_end)
        write_end = -1
        select.select([read_end], [], [], ANSWER_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise PoolError(f"the supervisor of the pool does not start: {error}") from None
    finally:
        for end in (read_end, write_end):
            if end >= 0:
                os.close(end)
