"""What the code under test leaves running: processes that left its process group, daemons.

A process that adopts orphans becomes the parent of all its descendants that lose theirs. Session
and worker both do, so what a session leaves behind falls to its worker at the moment it ends, and
a child of the worker that is no session is what a dead session left behind.
"""

import ctypes
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36

#: A process that the kernel cannot end (it waits for a dead disk) must not keep us for ever.
PATIENCE_SECONDS = 2.0


def adopt():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_group(pid):
    """End a process and the group it leads."""
    for kill, target in ((os.killpg, pid), (os.kill, pid)):
        try:
            kill(target, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def kill_strangers(known):
    """End the children of this process that are not among the known ones."""
    for pid in offspring():
        if pid not in known:
            kill_group(pid)


def end_all():
    """End every descendant of this process; what one leaves behind is found in the next round."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        kill_strangers(())
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return


def offspring():
    """The children of this process; none where the kernel does not tell."""
    found = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % thread) as children:
                found += [int(pid) for pid in children.read().split()]
    except OSError:
        pass
    return found
