"""Several ranks write several files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opbench.capture.ranks import path_of_rank, rank_of
from opbench.capture.reading import read

#: The ranks are forked when torch and its compiler, which optimizers use, are imported.
WORKER = """
import gc
import os
import sys
import torch
import torch._dynamo
import torch.distributed as dist
import opbench

child = os.fork()
rank = 0 if child else 1
store = dist.FileStore(sys.argv[1], 2)
dist.init_process_group("gloo", rank=rank, world_size=2, store=store)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with opbench.record("step.jsonl"):
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
net = optimizer = None  # before their group (tests/capture/scripts/distributed.py)
gc.collect()
dist.destroy_process_group()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_the_environment_of_torchrun_names_the_rank(monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert rank_of() == (1, 4)
    assert path_of_rank(tmp_path / "a.jsonl", rank_of()) == tmp_path / "a.rank1.jsonl"
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert path_of_rank(tmp_path / "a.jsonl", rank_of()) == tmp_path / "a.jsonl"


@pytest.mark.slow
def test_two_ranks_write_two_files_with_their_collectives(opbench_here, tmp_path):
    (tmp_path / "train.py").write_text(WORKER)
    done = subprocess.run(
        [sys.executable, "train.py", str(tmp_path / "store")],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        capture = read(tmp_path / f"step.rank{rank}.jsonl")
        assert (capture.header["rank"], capture.header["ranks"]) == (rank, 2)
        assert any(call.collective for call in capture.calls)
    assert not (tmp_path / "step.jsonl").exists()
    files = [f"step.rank{rank}.jsonl" for rank in range(2)]
    shown = opbench_here("show", *files, cwd=tmp_path).stdout
    first, second = (line.split() for line in shown.splitlines() if line.startswith(" step.rank"))
    assert (first[0], second[0]) == ("step.rank0", "step.rank1")
    # The gradients of a linear layer of three inputs and two outputs, in one bucket.
    assert first[-4:-2] == second[-4:-2] == ["32", "B"]
    assert "All make the same calls." in shown
