"""The public decorator. One implementation serves here and in the environments of workers,
where opbench is not installed, so it lives with the workers' stub."""

from __future__ import annotations

from opbench.worker.stub.bench import BenchError, bench, registered

__all__ = ["BenchError", "bench", "registered"]
