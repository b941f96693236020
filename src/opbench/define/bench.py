"""The public decorators. One implementation serves here and in the environments of workers,
where opbench is not installed, so they live with the workers' stub."""

from __future__ import annotations

from opbench.worker.stub.addresses import BenchError, in_a_file
from opbench.worker.stub.bench import bench, entry_of, registered
from opbench.worker.stub.layers import grad_sample_mode, layer_pair
from opbench.worker.stub.versus import compared

__all__ = [
    "BenchError", "bench", "compared", "entry_of", "grad_sample_mode", "in_a_file", "layer_pair",
    "registered",
]  # fmt: skip
