"""`main.py pool.supervisor FOLDER FD LIMITS`: the process that keeps starts between commands.

It answers the commands of one user from a loop that never waits for anybody. The lock of its folder
makes it the only one. It ends with its last start, or when it is asked to.
"""

import fcntl
import json
import os
import selectors
import signal
import socket
import sys

from .. import protocol
from . import peer, wire
from .folder import LOCK, SOCKET, Folder
from .kept import now
from .limits import Limits
from .starts import Full, Starts

#: How often memory is looked at, and how late an idle start is ended after the machine slept.
LOOK_SECONDS = 10.0
#: Ends of processes are looked for this often while some are awaited.
REAP_SECONDS = 0.05
#: Without starts and clients: the client that began us needs a moment to connect.
LINGER_SECONDS = 5.0


class Client:
    def __init__(self, sock):
        self.sock = sock
        self.leases = []
        self._pending = b""

    def requests(self):
        """The complete requests that have arrived; EOFError at the end of the connection."""
        try:
            piece = self.sock.recv(1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            piece = b""
        self._pending += piece
        if not piece or len(self._pending) > wire.LONGEST:
            raise EOFError
        *lines, self._pending = self._pending.split(b"\n")
        return [protocol.validate(protocol.decode(line), wire.REQUESTS, "op") for line in lines]

    def answer(self, event, fds=(), **more):
        line = protocol.encode({"event": event, **more})
        try:
            # A client that does not read its answers is as good as gone.
            self.sock.settimeout(1.0)
            sent = socket.send_fds(self.sock, [line], list(fds))
            self.sock.sendall(line[sent:])
            self.sock.setblocking(False)
        except OSError:
            raise EOFError from None


class Supervisor:
    def __init__(self, listener, limits, leave):
        """`leave` gives the place of the only supervisor away."""
        self._listener, self._leave = listener, leave
        self._build = wire.build()
        self._confinement = peer.confinement("self")
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self.starts = Starts(self._selector, limits)
        self._clients = set()
        self._retired = False
        self._busy = self._looked = now()

    def run(self):
        while self.starts or not self._finished():
            for each, _ in self._selector.select(self._seconds()):
                each.data()
            self.starts.check_time()
            if now() - self._looked > LOOK_SECONDS:
                self._looked = now()
                self.starts.check_memory()

        self._retire()

    def _retire(self):
        """Make room for another supervisor."""
        if not self._retired:
            self._retired = True
            self._selector.unregister(self._listener)
            self._leave()
            self._listener.close()

    def _finished(self):
        return self._retired or (not self._clients and now() - self._busy > LINGER_SECONDS)

    def _seconds(self):
        """How long nothing can happen that nobody reports."""
        if self.starts.any_ending():
            return REAP_SECONDS
        deadline = self.starts.next_deadline()
        left = LOOK_SECONDS if deadline is None else deadline - now()
        return max(REAP_SECONDS, min(left, LOOK_SECONDS if self.starts else LINGER_SECONDS / 4))

    # -- clients ---------------------------------------------------------------------------

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        client = Client(sock)
        pid, user = peer.credentials(sock)
        try:
            if user != os.getuid():
                raise EOFError
            other = peer.difference(self._confinement, peer.confinement(pid))
            if other:
                reason = "the pool was started with other %s" % ", ".join(other)
                client.answer("refused", reason=reason)
                raise EOFError
            client.answer("hello", build=self._build, pid=os.getpid())
        except (EOFError, OSError):
            sock.close()
            return
        self._clients.add(client)
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._serve(client))

    def _serve(self, client):
        self._busy = now()
        try:
            for request in client.requests():
                getattr(self, "_do_" + request["op"])(client, request)
        except (EOFError, protocol.ProtocolError):
            self._clients.discard(client)
            self._selector.unregister(client.sock)
            client.sock.close()
            for lease in client.leases:
                lease.abandon()

    def _do_list(self, client, _request):
        client.answer("list", starts=self.starts.describe())

    def _do_retire(self, client, _request):
        self._retire()
        ended, in_use = self.starts.dismiss_all()
        client.answer("retired", ended=ended, in_use=in_use)

    def _do_lease(self, client, request):
        ours, theirs = protocol.control_pair()
        try:
            if self._retired:
                raise Full("the pool is being ended")
            client.leases.append(self.starts.lease(request["spec"], request["start"], theirs))
        except (Full, OSError, ValueError) as error:
            theirs.close()
            client.answer("refused", reason=str(error))
        else:
            client.answer("leased", [ours.fileno()])
        finally:
            ours.close()


def main(where, ready_fd, limits):
    """Becomes the supervisor of the folder, unless there is one; closes `ready_fd` when known."""
    if os.fork():
        os._exit(0)  # nobody's child, so nobody has to wait for it
    os.setsid()
    folder = Folder(where)
    log = os.open(folder.entry("log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    lock = os.open(folder.entry(LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    address = folder.entry(SOCKET)
    try:
        os.unlink(address)  # of one that was killed
    except FileNotFoundError:
        pass
    listener.bind(address)
    listener.listen(16)
    listener.setblocking(False)

    def leave():
        os.unlink(address)
        os.close(lock)

    supervisor = Supervisor(listener, Limits(**json.loads(limits)), leave)

    def end(_signal, _frame):
        supervisor.starts.kill_all()
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(int(ready_fd))
    supervisor.run()
    sys.exit(0)
