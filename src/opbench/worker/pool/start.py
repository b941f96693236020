"""A pooled start: has imported its framework, and forks a worker whenever the supervisor asks.

It runs nothing else, so that every worker forked from it finds what the first one found. It ends
with the supervisor, and every worker and child with it.
"""

import os
import select
import signal
import socket

from .. import protocol
from ..ending import orphans
from . import files, wire


class Start:
    def __init__(self, control):
        self._control = control
        self._files = files.loaded()
        self._leases = {}  # pid of a worker -> number of its lease

    def serve(self, work):
        """Fork on demand until the supervisor goes away; a worker does `work(its socket)`."""
        signal.signal(signal.SIGTERM, lambda _signal, _frame: self._end())
        orphans.become_subreaper()
        wake = os.pipe()
        for pipe in wake:
            os.set_blocking(pipe, False)
        signal.set_wakeup_fd(wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        try:
            while True:
                ready = select.select([self._control, wake[0]], [], [])[0]
                if wake[0] in ready:
                    os.read(wake[0], 4096)
                    self._reap()
                if self._control in ready:
                    data, fds, _flags, _address = socket.recv_fds(self._control, 1 << 16, 1)
                    if not data:
                        return
                    order = protocol.validate(protocol.decode(data), wire.ORDERS, "op")
                    self._fork(order["lease"], fds[0], wake, work)
        except OSError:  # the supervisor vanished in the middle of a message
            pass
        finally:
            self._end()

    def _end(self):
        orphans.kill_all()
        os._exit(0)

    def _fork(self, lease, client, wake, work):
        if files.changed(self._files):
            os.close(client)
            self._report("stale", lease)
            return
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, signal.SIGTERM):
                    signal.signal(number, signal.SIG_DFL)
                orphans.die_with_parent(signal.SIGTERM)
                os.setsid()  # a group of its own, like a worker that a command has started
                self._control.close()
                for pipe in wake:
                    os.close(pipe)
                work(socket.socket(fileno=client))
            finally:
                os._exit(70)
        os.close(client)
        self._leases[pid] = lease
        self._report("forked", lease, pid=pid)

    def _reap(self):
        while True:
            try:
                pid, _status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            orphans.kill_group(pid)
            lease = self._leases.pop(pid, None)
            orphans.kill_orphans(self._leases)
            if lease is not None:
                self._report("ended", lease)

    def _report(self, event, lease, **more):
        self._control.send(protocol.encode({"event": event, "lease": lease, **more}))
