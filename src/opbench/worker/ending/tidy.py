"""Removes the temporary files of a command when that has ended, however it ended.

`main.py ending.tidy` reads paths from its standard input, each followed by a zero byte, and removes
what is left of them when the input ends: the command holds its other end, and only death closes it.
"""

import os
import shutil
import signal
import sys
import time

#: What the command had started may still write there for a moment.
SECONDS = 5.0


def main():
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    paths = [path for path in sys.stdin.buffer.read().split(b"\0") if path]
    deadline = time.monotonic() + SECONDS
    while any(map(os.path.lexists, paths)) and time.monotonic() < deadline:
        for path in paths:
            remove(path)
        time.sleep(0.02)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        os.unlink(path)
    except OSError:
        pass
