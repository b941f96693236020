"""The supervisor's side of one start: begun, asked for workers, watched, ended."""

import os
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from typing import Any

from .. import protocol
from . import surroundings, wire

#: A start that was asked to fork, or to end, and does neither within this time hangs.
ANSWER_SECONDS = 3.0
#: Under Valgrind a start looks at its files, and forks, so much more slowly.
SLOWDOWN = 20
#: The worker of a client that has gone ends at once; one that does not is given so long.
END_SECONDS = 2.0
#: Importing a framework on a loaded machine for the first time: minutes, not more.
IMPORT_SECONDS = 300.0
#: Taken for the size of a start that is still importing.
EXPECTED_BYTES = 150e6


def now():
    """Seconds since the machine was started, those it slept included: what was idle when the lid
    was closed is too old when it is opened."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """A worker that a client has asked for."""

    def __init__(self, number, spec, control):
        self.number, self.spec = number, spec
        #: The start that is to serve it.
        self.start: Any = None
        #: The worker's end of its control socket, until it is forked.
        self.control = control
        #: Of the worker, once it is forked.
        self.pid: Any = None
        #: When to stop waiting for it to be forked or, after its client has gone, to end.
        self.deadline = None
        #: Starts that could not serve it.
        self.moves = 0
        #: Whether its worker was killed, and only has to be reaped.
        self.killed = False

    def refuse(self, reason):
        """Say to the client, in the worker's place, why there is none."""
        try:
            self.control.send(protocol.encode({"event": "broken", "reason": reason[:2000]}))
        except OSError:
            pass
        self.control.close()

    def abandon(self):
        """Its client has gone, which its worker sees at once; one that does not end is ended."""
        if self.pid is None and not self.start.ready:
            self.start.leases.pop(self.number, None)
            self.control.close()
        else:
            self.deadline = now() + END_SECONDS

    def late(self):
        return self.deadline is not None and now() > self.deadline

    def kill(self):
        """End a worker whose client has gone; its children die with it."""
        self.killed, self.deadline = True, now() + ANSWER_SECONDS
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


class Kept:
    def __init__(self, key, spec, number):
        #: Results keep it: those that share a start are not independent of each other.
        self.id = uuid.uuid4().hex[:12]
        #: Which of the starts of its key: the first one asked for is 0.
        self.key, self.number = key, number
        # The command ends with interpreter, file and module; Valgrind may stand before.
        self.python, self.preload = spec["command"][-3], spec["preload"]
        self._answer_seconds = ANSWER_SECONDS * (SLOWDOWN if "rehearse" in spec else 1)
        self.ready = False
        self.leases = {}
        self.began = self.used = now()
        self.deadline = self.began + IMPORT_SECONDS
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.control, theirs = protocol.control_pair()
        try:
            self.process = subprocess.Popen(
                [*spec["command"], "%05d" % theirs.fileno()],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=spec["env"],
                cwd=spec["surroundings"]["cwd"],
                preexec_fn=lambda: surroundings.take(spec["surroundings"]),
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self.control.close()
            self._log.close()
            if isinstance(error, OSError):
                raise
            raise OSError("it may not take the limits or the priority of this command") from None
        finally:
            theirs.close()
        options = {"preload": spec["preload"], "cpus": spec["cpus"], "pooled": self.id}
        if "rehearse" in spec:
            options["rehearse"] = spec["rehearse"]
        self.control.send(protocol.encode(options))
        self.control.setblocking(False)

    def fork(self, lease):
        """Have a worker forked for this lease, now or as soon as the import is done."""
        self.leases[lease.number], lease.start = lease, self
        lease.deadline = None
        self.used = now()
        if self.ready:
            self._order(lease)

    def _order(self, lease):
        lease.deadline = now() + self._answer_seconds
        message = protocol.encode({"op": "fork", "lease": lease.number})
        try:
            socket.send_fds(self.control, [message], [lease.control.fileno()])
        except OSError:
            pass  # it has ended, which its next report says, or hangs, which its silence says

    def report(self):
        """The next report, None for none yet; EOFError when the process has ended."""
        try:
            data = self.control.recv(1 << 20)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            raise EOFError
        found = protocol.validate(protocol.decode(data), wire.REPORTS, "event")
        if found["event"] == "ready":
            self.ready, self.deadline = True, None
            for lease in self.leases.values():
                self._order(lease)
        elif found["event"] == "forked" and found["lease"] in self.leases:
            lease = self.leases[found["lease"]]
            lease.pid, lease.deadline = found["pid"], None
            lease.control.close()
        elif found["event"] == "ended":
            self.leases.pop(found["lease"], None)
            self.used = now()
        return found

    def end(self):
        """Ask the process to end with all it has forked; `reaped` says when it has."""
        self.leases.clear()
        self.deadline = now() + ANSWER_SECONDS
        self.control.close()

    def reaped(self):
        """Whether the process is gone; one that should be, and is not, is killed."""
        if self.process.poll() is None:
            if now() < self.deadline:
                return False
            self.kill()
        self._log.close()
        return True

    def kill(self):
        """What it forked dies with it."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def last_line(self):
        """The last line it printed, for the reason why it did not start."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 4096))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"

    @property
    def idle(self):
        return not self.leases and self.ready

    def bytes(self):
        """Memory that it holds alone, not in common with other processes."""
        try:
            with open("/proc/%d/status" % self.process.pid) as lines:
                for line in lines:
                    if line.startswith("RssAnon:"):
                        held = int(line.split()[1]) * 1024
                        return held if self.ready else max(held, EXPECTED_BYTES)
        except (OSError, ValueError):
            pass
        return 0

    def describe(self):
        state = "in use" if self.leases else "idle" if self.ready else "starting"
        return {
            "id": self.id,
            "pid": self.process.pid,
            "python": self.python,
            "preload": self.preload,
            "state": state,
            "seconds": now() - self.used,
            "age": now() - self.began,
            "bytes": int(self.bytes()),
        }
