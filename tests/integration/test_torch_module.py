"""A torch module of the user's own: its stages, its time, and its memory to the byte."""

from __future__ import annotations

import pytest
from tests.late import needs

from opbench.store import Store

needs("torch")

pytestmark = pytest.mark.usefixtures("kept_workers")

MODULE = """
import torch
import opbench as ob


def inputs(batch):
    return (torch.ones(batch, 256),)


@ob.bench(inputs=inputs, batch=[64])
class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64, 256))

    def forward(self, x):
        return x * self.weight
"""


def test_a_module_has_its_stages_with_time_and_exact_memory(opbench_here, tmp_path):
    (tmp_path / "bench_tiny.py").write_text(MODULE)
    done = opbench_here(
        "run", "bench_tiny.py", "--metric", "time,memory", "--num-runs", "1", "--num-repeats", "3"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(tmp_path / ".opbench" / "results.db", create=False) as store:
        results = {(f.case.stage, f.result.metric): f.result for f in store.results()}
    stages = ("forward", "backward", "forward_backward")
    assert set(results) == {(stage, metric) for stage in stages for metric in ("time", "memory")}
    assert all(results[stage, "time"].estimate > 0 for stage in stages)
    # Plain arithmetic needs no workspace: what is allocated is what is computed.
    bytes_each = 64 * 256 * 4  # batch × features × bytes of a float32
    forward = results["forward", "memory"]
    assert forward.estimate == forward.low == forward.high == bytes_each  # the output
    parts = forward.detail["components"]
    assert parts["inputs"] == parts["module"] == bytes_each
    # Backward allocates the gradient of the weight; the input asks for none.
    assert results["backward", "memory"].estimate == bytes_each
    # At its peak a step holds input, weight, the gradient it starts from, output and gradient.
    assert results["forward_backward", "memory"].detail["max_memory"] == 5 * bytes_each
