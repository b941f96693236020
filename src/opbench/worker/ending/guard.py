"""Runs a module of this package, or a program, so that nothing it starts outlives the command.

    main.py ending.guard STARTER module NAME ARGUMENT…
    main.py ending.guard STARTER program PATH ARGUMENT…

The guard forks the work and watches it. As a subreaper it becomes the parent of every process that
the work leaves behind, daemons included. It ends them all when the work has ended, when it is asked
to (SIGTERM), and when STARTER, the process that started it, is gone, however that ended.
"""

import importlib
import os
import resource
import signal
import time

from . import orphans

#: What a terminal sends to everything in it: the work decides what that means, the guard stays.
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def main(starter, kind, name, *arguments):
    orphans.become_subreaper()
    inherited = {number: signal.getsignal(number) for number in IGNORED}
    signal.signal(signal.SIGTERM, lambda _signal, _frame: end_all(128 + signal.SIGTERM))
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    orphans.die_with_parent(signal.SIGTERM)
    if os.getppid() != int(starter):
        return
    group = os.getpgrp()
    move_to_group(0)  # before there is anything to clean up: the group may be killed at once
    pid = os.fork()
    if pid:
        watch(pid)
    orphans.die_with_parent(signal.SIGKILL)  # somebody may kill the guard
    move_to_group(group)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number, handler in inherited.items():
        signal.signal(number, handler)
    if kind == "module":
        importlib.import_module(".." + name, __package__).main(*arguments)
    else:
        execute(name, arguments)


def execute(path, arguments):
    try:
        os.execvp(path, [path, *arguments])
    except OSError as error:
        os.write(2, ("cannot start %s: %s\n" % (path, error.strerror)).encode())
        os._exit(127)


def move_to_group(group):
    """A signal to the group of the command is for the work, and must not reach the guard, which has
    to clean up after it: it has a group of its own (0), and the work that of the command."""
    try:
        os.setpgid(0, group)
    except OSError:
        pass  # it leads a session already, or that group has ended


def watch(pid):
    """Wait for the work, and end the way it did; everything else ends first."""
    # Pipes that the work was given must close when it closes them.
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    ended = None
    while ended != pid:
        ended, status = os.wait()
    if os.WIFSIGNALED(status):
        end_all(-os.WTERMSIG(status))
    end_all(os.WEXITSTATUS(status))


def tidies(pid):
    """Whether a process only removes the temporary files of one that has ended (`tidy.py`)."""
    return words_of(pid).endswith(b"main.py\0ending.tidy\0")


def words_of(pid):
    """The command line of a process; empty when it has ended. One that has just begun to run
    another program has none for a moment, which may be long where the host takes the processor
    away."""
    try:
        for _ in range(10):
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                words = file.read()
            with open("/proc/%d/stat" % pid, "rb") as file:
                zombie = file.read().rpartition(b")")[2].split()[0] == b"Z"
            if words or zombie:
                return words
            time.sleep(0.01)
    except OSError:  # it is gone
        pass
    return b""


def end_all(code):
    """Exit with the code, or by the signal where it is negative, after every descendant."""
    orphans.kill_all(spare=tidies)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
