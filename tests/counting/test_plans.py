"""How often a statement is counted, which counts repeat, and which dumps nobody reads."""

from __future__ import annotations

import os
import subprocess
import time

from opbench.counting import valgrind
from opbench.counting.instructions import unrepeatable
from opbench.worker.callgrind.plans import length_of_wait, plan_for


def calls(instructions: float) -> int:
    settling, number, repeats, dropped = plan_for(instructions)
    return 2 + settling + number * (repeats + dropped)


def test_a_call_that_waits_is_made_as_seldom_as_a_long_one():
    assert length_of_wait(0.0) == length_of_wait(0.01) == 0.0
    for seconds in (0.06, 0.3, 1.9, 10.0):
        assert calls(length_of_wait(seconds)) * seconds < 40
    assert calls(length_of_wait(10.0)) == 3


def test_threads_are_named_as_the_reason():
    same = unrepeatable([1000, 1000], 100, threads=2)
    assert same.startswith("2 threads took part")
    assert unrepeatable([1000, 1000], 100, threads=1) == ""
    assert "accumulates state" in unrepeatable([100_000, 200_000], 100, threads=1)


def test_dumps_that_nobody_reads_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("OPBENCH_CACHE", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = tmp_path / "callgrind"
    kept = [folder / f"dump.{os.getpid()}", folder / f"dump.{ended.pid}.1"]
    old = folder / f"dump.{os.getpid()}.1"
    valgrind.shared_folder()
    for path in (*kept, old, folder / f"dump.{ended.pid}"):
        path.write_text("")
    os.utime(old, (time.time() - 7200,) * 2)
    valgrind.shared_folder()
    assert sorted(folder.iterdir()) == sorted(kept)
