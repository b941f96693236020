"""What is seen of other programs while a block runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opbench.result import Sample
from opbench.stats.contention import disturbed_share
from opbench.worker.watch import behind_others

#: This program and another one, both on one core.
CROWDED = """
import hashlib, os, threading, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from opbench.worker.watch import Watch

ours = os.getpid()
neighbour = os.fork()
while not neighbour and os.getppid() == ours:
    pass
if not neighbour:
    os._exit(0)
"""
SHOWN = "print(watch.wall_ns, watch.cpu_ns, watch.queued_ns, watch.switches)"

THREADS = """
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
"""

#: One thread, which computes for a quarter of a second, after it has slept for so many.
SLEEPING = """
with Watch() as watch:
    time.sleep({seconds})
    while time.process_time_ns() - watch._cpu < 250_000_000:
        pass
"""


def watched(work: str) -> Sample:
    """What is seen of it beside another program on the same core."""
    ran = [sys.executable, "-c", CROWDED + work + SHOWN]
    found = subprocess.run(ran, check=True, capture_output=True, text=True).stdout
    wall, cpu, queued, switches = map(int, found.split())
    return Sample(1.0, wall_ns=wall, cpu_ns=cpu, queued_ns=queued, switches=switches)


def test_threads_that_wait_for_a_core_of_others_are_seen():
    seen = watched(THREADS)
    lacking = seen.wall_ns - seen.cpu_ns  # one core: what this process did not use of it
    assert 0.1 * seen.wall_ns < seen.queued_ns <= lacking


def test_a_thread_that_waits_for_a_core_is_seen():
    assert disturbed_share([watched(SLEEPING.format(seconds=0))]) == 1


def test_sleep_is_not_taken_for_waiting_for_a_core():
    seen = watched(SLEEPING.format(seconds=4))
    assert seen.switches > 0
    assert seen.cpu_ns < 0.2 * seen.wall_ns
    assert disturbed_share([seen]) == 0


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
