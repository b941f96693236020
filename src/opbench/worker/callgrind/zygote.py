"""Forks the children of a counting worker from a process that does nothing else.

What a process did before leaves traces in its memory: free blocks in the allocator's pools, free
lists, the order of holes. Its children inherit them, and a count shows them: by some ten
instructions, but then two counts of the same statement differ. A worker's parent reads messages,
decodes JSON and keeps a list of its children, so what it forks depends on what it served before.

This process is forked from the parent when that is ready, and repeats one short loop: wait for two
file descriptors, fork, wait for the child to exit. Every child finds the same memory.
"""

import os
import signal
import socket

#: Rounds with a child that exits at once: afterwards the loop itself has settled.
REHEARSALS = 3
#: Length of a message, so that every round allocates the same.
WIDTH = 48


class Zygote:
    """The parent's handle on it. One child at a time: counting needs no more."""

    def __init__(self, start_child, prepare):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            try:
                prepare()
                _serve(theirs, start_child)
            finally:
                os._exit(0)
        theirs.close()
        #: (pid, status) of children that have exited while another was asked for.
        self._exited = []
        for _ in range(REHEARSALS):
            read_end, write_end = os.pipe()
            self.fork(-1, read_end, write_end)
            os.close(read_end)
            os.close(write_end)
            self.wait()

    def fileno(self):
        return self._socket.fileno()

    def fork(self, memory_limit, session_fd, output_fd):
        """Have a child forked, once the one before has exited; returns its pid."""
        message = b"%*d" % (WIDTH, memory_limit)
        socket.send_fds(self._socket, [message], [session_fd, output_fd])
        while True:
            kind, pid, status = self._receive()
            if kind == 0:
                return pid
            self._exited.append((pid, status))

    def wait(self):
        """(pid, status) of the next child that exits."""
        if self._exited:
            return self._exited.pop(0)
        _kind, pid, status = self._receive()
        return pid, status

    @property
    def waiting(self):
        """Whether an exit is known that was not yet asked for."""
        return bool(self._exited)

    def _receive(self):
        data = self._socket.recv(WIDTH)
        if not data:
            raise OSError("the process that forks children has ended")
        return map(int, data.split())


def _serve(sock, start_child):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        data, fds, _flags, _address = socket.recv_fds(sock, WIDTH, 2)
        if not data:
            return
        pid = os.fork()
        if pid == 0:
            memory_limit = int(data)
            if memory_limit < 0:
                os._exit(0)
            sock.close()
            try:
                start_child(fds[0], fds[1], memory_limit)
            finally:
                os._exit(70)
        os.close(fds[0])
        os.close(fds[1])
        sock.send(b"%*d%*d%*d" % (2, 0, 20, pid, 20, 0))
        status = os.waitpid(pid, 0)[1]
        sock.send(b"%*d%*d%*d" % (2, 1, 20, pid, 20, status))
