"""opbench: micro-benchmarks for deep learning.

    import opbench as ob

    @ob.bench(n=[64, 512])
    def matmul(n):
        a = torch.randn(n, n)
        yield lambda: a @ a

    ob.run()        # the benchmarks of this file
    ob.load()       # everything measured so far, as a DataFrame

Names are imported when they are first used: `import opbench` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Older interfaces keep their addresses: `opbench.ops`, `opbench.mxnet_benchmarks`, …
__path__.append(str(Path(__file__).parent / "compat" / "addresses"))

if TYPE_CHECKING:
    from opbench.api.ab import ab
    from opbench.api.count import count
    from opbench.api.frames import load
    from opbench.api.run import Run, run
    from opbench.api.versus import versus
    from opbench.api.views import compare, history, page
    from opbench.capture.record import record, record_api
    from opbench.case import Case
    from opbench.compat.layer_benchmark import run_layer_benchmark
    from opbench.define.bench import bench, grad_sample_mode, layer_pair
    from opbench.result import Result

_HOME = {
    "ab": "opbench.api.ab",
    "bench": "opbench.define.bench",
    "count": "opbench.api.count",
    "layer_pair": "opbench.define.bench",
    "grad_sample_mode": "opbench.define.bench",
    "run": "opbench.api.run",
    "Run": "opbench.api.run",
    "versus": "opbench.api.versus",
    "load": "opbench.api.frames",
    "page": "opbench.api.views",
    "compare": "opbench.api.views",
    "history": "opbench.api.views",
    "Case": "opbench.case",
    "Result": "opbench.result",
    "run_layer_benchmark": "opbench.compat.layer_benchmark",
    "record": "opbench.capture.record",
    "record_api": "opbench.capture.record",
    "load_ipython_extension": "opbench.capture.notebook",
}

__all__ = [
    "Case", "Result", "Run", "ab", "bench", "compare", "count", "grad_sample_mode", "history",
    "layer_pair", "load", "page", "record", "record_api", "run", "run_layer_benchmark",
    "versus",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'opbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
