"""The public decorators. One implementation serves here and in the environments of workers,
where opbench is not installed, so they live with the workers' stub."""

from __future__ import annotations

from opbench.worker.stub.bench import BenchError, bench, registered
from opbench.worker.stub.layers import grad_sample_mode, layer_pair

__all__ = ["BenchError", "bench", "grad_sample_mode", "layer_pair", "registered"]
