"""Removes the temporary files of a command when that has ended, however it ended; and ends what no
guard could be put around (the daemons that Ray starts).

`main.py ending.tidy` reads its standard input to the end: the command holds its other end, and only
death closes it. Each entry is followed by a zero byte: the path of what is to be removed, or the
number of a process with the time of its start (`pid 4711 998877`), which tells it from a later one.
"""

import os
import shutil
import signal
import sys
import time

#: What the command had started may still write there for a moment.
SECONDS = 5.0
#: No path begins like that: they are absolute.
PROCESS = b"pid "


def main():
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    entries = [entry for entry in sys.stdin.buffer.read().split(b"\0") if entry]
    for entry in entries:
        if entry.startswith(PROCESS):
            end(*entry[len(PROCESS) :].split())
    paths = [entry for entry in entries if not entry.startswith(PROCESS)]
    deadline = time.monotonic() + SECONDS
    while any(map(os.path.lexists, paths)) and time.monotonic() < deadline:
        for path in paths:
            remove(path)
        time.sleep(0.02)


def end(pid, started):
    try:
        if start_of(int(pid)) == int(started):
            os.kill(int(pid), signal.SIGKILL)
    except (OSError, ValueError):
        pass  # it has ended


def start_of(pid):
    """When a process began, in ticks since the machine did."""
    with open("/proc/%d/stat" % pid, "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        os.unlink(path)
    except OSError:
        pass
