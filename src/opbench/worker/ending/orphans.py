"""Processes that the code under test leaves running: daemons, and others outside its group.

A subreaper becomes the parent of every descendant whose own parent dies. Session and worker are
both subreapers, so the worker inherits what a session leaves behind: any child of the worker that
is not a session is an orphan.
"""

import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

#: A process that the kernel cannot kill (it waits for a dead disk) must not block us for ever.
KILL_SECONDS = 2.0
#: Those that end by themselves have longer: a busy machine may not let them run for seconds.
SPARED_SECONDS = 10.0


def die_with_parent(signal_number):
    """Ask the kernel to signal this process when its parent dies (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def become_subreaper():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_group(pid):
    """Kill a process and the group it leads."""
    for kill, target in ((os.killpg, pid), (os.kill, pid)):
        try:
            kill(target, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def kill_orphans(sessions):
    """Kill the children of this process that are not sessions."""
    kill_listed(child_pids(), sessions)


def kill_listed(pids, spared):
    """Kill those that were listed, not spared. Who lists anew before killing meets children that
    nobody has looked at: a child's children come to us the moment it dies."""
    for pid in pids:
        if pid not in spared:
            kill_group(pid)


def kill_all(spare=None):
    """Kill every descendant of this process; the orphans of one round are found in the next. Those
    that end by themselves, as `spare(pid)` says, are given some time for it."""
    began, limit = time.monotonic(), KILL_SECONDS
    while (waited := time.monotonic() - began) < limit:
        pids, spared = child_pids(), []
        if spare is not None and waited < SPARED_SECONDS:
            spared = [pid for pid in pids if spare(pid)]
        if spared:
            limit = SPARED_SECONDS + KILL_SECONDS
        kill_listed(pids, spared)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return


def kill_others(spare):
    """Kill the children of this process, and what they leave behind, but for those that
    `spare(pid)` names."""
    began = time.monotonic()
    while time.monotonic() - began < KILL_SECONDS:
        pids = child_pids()
        spared = [pid for pid in pids if spare(pid)]
        if len(spared) == len(pids):
            return
        kill_listed(pids, spared)
        time.sleep(0.005)


def child_pids():
    """The children of this process; empty where the kernel does not list them."""
    found = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % thread) as children:
                found += [int(pid) for pid in children.read().split()]
    except OSError:
        pass
    return found
