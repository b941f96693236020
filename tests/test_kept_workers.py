"""Workers that a run leaves to the next: other tests pass without them too, in twice the time."""

from __future__ import annotations

from tests import kept_workers as kept

BENCH = "import numpy\nimport opbench as ob\n\n@ob.bench\ndef one():\n    numpy.zeros(1)\n"


def test_a_command_finds_the_worker_of_the_one_before(kept_workers, opbench_here, tmp_path):
    (tmp_path / "bench_one.py").write_text(BENCH)
    found = []
    for _ in range(2):
        before = set(kept.pids())
        done = opbench_here("run", "bench_one.py", "--num-runs", "1", "--num-repeats", "1")
        assert done.returncode == 0, done.stderr
        found.append(set(kept.pids()) - before)
    assert len(found[0]) <= 1
    assert not found[1]
    assert all(worker.alive for worker in kept.workers())
