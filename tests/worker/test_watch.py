"""What is seen of other programs while a block runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opbench.worker.watch import behind_others

#: Three threads and another program, all of them on one core.
WATCHED = """
import hashlib, os, threading
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from opbench.worker.watch import Watch

ours = os.getpid()
neighbour = os.fork()
while not neighbour and os.getppid() == ours:
    pass
if not neighbour:
    os._exit(0)

finished, seen = threading.Barrier(4), threading.Event()

def work():
    for _ in range(20):
        hashlib.sha256(bytes(4 << 20)).digest()  # without the interpreter's lock
    finished.wait()
    seen.wait()  # what an ended thread has waited is gone

threads = [threading.Thread(target=work) for _ in range(3)]
with Watch() as watch:
    for thread in threads:
        thread.start()
    finished.wait()
seen.set()
print(watch.wall_ns, watch.cpu_ns, watch.queued_ns)
"""


def test_threads_that_wait_for_a_core_of_others_are_seen():
    ran = [sys.executable, "-c", WATCHED]
    found = subprocess.run(ran, check=True, capture_output=True, text=True).stdout
    wall, cpu, queued = map(int, found.split())
    assert 0.1 * wall < queued <= wall - cpu  # one core: what this process did not use of it


@pytest.mark.parametrize(
    ("cpu", "threads", "seen"),
    [
        (1000, 1, 0),  # a caller and the thread of an engine, in turns on one core of two
        (800, 1, 200),  # the same beside another program
        (1000, 2, 300),  # two that could compute at a time, on one core
        (2000, 2, 0),
    ],
)
def test_threads_that_take_turns_wait_for_nobody_else(cpu, threads, seen):
    assert behind_others(300, 1000, cpu, threads) == seen
