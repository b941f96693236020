"""The parent process of a worker: imports the framework, forks a child per session, reaps it.

It runs no operator of the framework: after one, forked children of torch and JAX hang. It never
blocks on a child, so many sessions can live at once. When the runner goes away, every descendant
of this process is killed.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback

from . import child, protocol
from .ending import orphans
from .probe import facts

#: How much of a child's output is kept, for the message about its end.
OUTPUT_KEPT = 4096


class Children:
    """The live children of this worker and what they print."""

    def __init__(self, zygote=None):
        #: Under Callgrind: the process that forks them.
        self.zygote = zygote
        self.sessions = {}  # pid -> session number
        self.outputs = {}  # pid -> (read end of its output pipe, kept bytes)

    @property
    def ours(self):
        """Processes that are not orphans."""
        return {*self.sessions, *([self.zygote.pid] if self.zygote else [])}

    def add(self, pid, session, output):
        self.sessions[pid] = session
        self.outputs[pid] = (output, b"")

    def readable(self):
        return {pipe: pid for pid, (pipe, _kept) in self.outputs.items() if pipe is not None}

    def drain(self, pid):
        pipe, kept = self.outputs[pid]
        if pipe is None:
            return
        try:
            piece = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return
        if not piece:
            os.close(pipe)
            pipe = None
        self.outputs[pid] = (pipe, (kept + piece)[-OUTPUT_KEPT:])

    def remove(self, pid):
        """Forget a dead child; returns its session and the end of its output."""
        self.drain(pid)
        pipe, kept = self.outputs.pop(pid)
        if pipe is not None:
            os.close(pipe)
        return self.sessions.pop(pid), kept.decode("utf-8", "replace")

    def kill_all(self):
        for pid in list(self.sessions):
            orphans.kill_group(pid)
        orphans.kill_all()


def oom_kills():
    """How many processes the kernel's OOM killer has ended since boot; None if unknown."""
    try:
        with open("/proc/vmstat") as lines:
            for line in lines:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


def main(control_fd):
    runner = os.getppid()
    # During the import nothing has been forked yet, so there is nothing else to kill.
    orphans.die_with_parent(signal.SIGTERM)
    if os.getppid() != runner:
        return
    control = socket.socket(fileno=int(control_fd))
    control.setblocking(True)
    options = json.loads(control.recv(1 << 20).decode())
    # The collector would look at all that is imported, again and again: a tenth of the time. It
    # collects once, below or in `rehearse`.
    gc.disable()
    try:
        if "rehearse" in options:
            from . import cache
            from .callgrind import readable_copies, rehearsal

            readable_copies.watch(cache.folder())
            preload(options["preload"])
            gc.enable()
            rehearsal.rehearse(options["rehearse"])
        else:
            preload(options["preload"])
            gc.enable()
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
        control.send(protocol.encode({"event": "broken", "reason": reason[:2000]}))
        return
    if options.get("cpus"):
        os.sched_setaffinity(0, options["cpus"])
    start = None
    if options.get("pooled"):
        from .pool.start import Start

        start = Start(control)
    # What exists now stays: children neither scan it nor copy its pages.
    gc.collect()
    gc.freeze()
    known = {"version": protocol.VERSION, "facts": facts.interpreter_facts()}

    def work(client):
        announce(client, known)
        serve(client, Children(start_zygote(client) if "rehearse" in options else None))

    if start is not None:
        known["start"] = options["pooled"]
        announce(control, known)
        start.serve(work)
    work(control)


def announce(control, known):
    control.send(protocol.encode({"event": "ready", "pid": os.getpid(), **known}))


def preload(names):
    """Import the modules. A submodule that this version lacks is skipped: it only saves time."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            if "." not in name:
                raise


def start_zygote(control):
    from .callgrind.zygote import Zygote

    def prepare():
        orphans.die_with_parent(signal.SIGKILL)
        control.close()

    return Zygote(start_child, prepare)


def start_child(session_fd, output_fd, memory_limit):
    """In a new process: become the child that serves the session."""
    orphans.die_with_parent(signal.SIGKILL)
    child.main(session_fd, output_fd, memory_limit)


def serve(control, children):
    def end(_signal, _frame):
        children.kill_all()
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    orphans.become_subreaper()
    try:
        listen(control, children)
    except Exception:  # the runner vanished in the middle of a message, or a bug of ours
        traceback.print_exc()
    finally:
        children.kill_all()
        os._exit(0)


def listen(control, children):
    wake_read, wake_write = os.pipe()
    for end_of_pipe in (wake_read, wake_write):
        os.set_blocking(end_of_pipe, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    ooms = oom_kills()
    zygote = children.zygote
    always = [control, wake_read] if zygote is None else [control, wake_read, zygote]
    while True:
        pipes = children.readable()
        ready = select.select([*always, *pipes], [], [])[0]
        for pipe in ready:
            if pipe in pipes:
                children.drain(pipes[pipe])
        if wake_read in ready:
            os.read(wake_read, 4096)
            ooms = reap(control, children, ooms)
        if zygote in ready:
            pid, status = zygote.wait()
            ooms = report_end(control, children, pid, status, ooms)
        if control in ready:
            data, fds, _flags, _address = socket.recv_fds(control, 1 << 16, 1)
            if not data:
                return
            message = protocol.validate(protocol.decode(data), protocol.OPERATIONS, "op")
            if zygote is None:
                pid, output = fork(control, children, message, fds[0], wake_read, wake_write)
            else:
                pid, output = fork_by_zygote(zygote, message, fds[0])
                while zygote.waiting:
                    ended, status = zygote.wait()
                    ooms = report_end(control, children, ended, status, ooms)
            children.add(pid, message["session"], output)
            opened = {"event": "opened", "session": message["session"], "pid": pid}
            control.send(protocol.encode(opened))


def reap(control, children, ooms):
    """Report every child that has exited; returns the new count of OOM kills."""
    while True:
        try:
            pid, status, _usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ooms
        if pid == 0:
            return ooms
        if children.zygote is not None and pid == children.zygote.pid:
            raise OSError("the process that forks children has ended")
        if pid not in children.sessions:
            orphans.kill_orphans(children.ours)  # what an orphan leaves is an orphan too
            continue
        ooms = report_end(control, children, pid, status, ooms)


def report_end(control, children, pid, status, ooms):
    """Tell the runner how a child has ended; returns the new count of OOM kills."""
    now = oom_kills()
    by_kernel = ooms is not None and now is not None and now > ooms
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    orphans.kill_group(pid)  # processes the child may have started
    session, output = children.remove(pid)
    orphans.kill_orphans(children.ours)
    control.send(
        protocol.encode(
            {
                "event": "exited",
                "session": session,
                "status": status,
                "output": output,
                "oom": bool(killed and by_kernel),
            }
        )
    )
    return now


def fork_by_zygote(zygote, message, session_fd):
    """(pid, read end of its output) of a child under Callgrind."""
    read_end, write_end = os.pipe()
    pid = zygote.fork(message["memory_limit"], session_fd, write_end)
    os.close(session_fd)
    os.close(write_end)
    os.set_blocking(read_end, False)
    return pid, read_end


def fork(control, children, message, session_fd, *private_fds):
    """(pid, read end of its output) of a child of this process."""
    read_end, write_end = os.pipe()
    # The child must not flush our buffers a second time.
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            control.close()
            for fd in (read_end, *private_fds, *children.readable()):
                os.close(fd)
            start_child(session_fd, write_end, message["memory_limit"])
        finally:
            os._exit(70)
    os.close(session_fd)
    os.close(write_end)
    os.set_blocking(read_end, False)
    return pid, read_end
