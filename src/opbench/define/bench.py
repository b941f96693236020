"""The public decorators. One implementation serves here and in the environments of workers,
where opbench is not installed, so they live with the workers' stub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from opbench.worker.stub.addresses import BenchError
from opbench.worker.stub.bench import entry_of, misplaced, registered
from opbench.worker.stub.layers import grad_sample_mode, layer_pair
from opbench.worker.stub.versus import compared

__all__ = [
    "BenchError", "bench", "compared", "entry_of", "grad_sample_mode", "layer_pair", "misplaced",
    "registered",
]  # fmt: skip

if TYPE_CHECKING:
    # For type checkers: the implementation runs on Python 3.9 in any environment, without types.
    Target = TypeVar("Target", bound=Callable[..., Any])

    @overload
    def bench(target: Target) -> Target: ...

    @overload
    def bench(
        target: None = None,
        *,
        name: str | None = None,
        group: str | Iterable[Any] | None = None,
        axes: Mapping[str, Iterable[Any]] | None = None,
        stages: str | Sequence[str] | None = None,
        inputs: Callable[..., Any] | None = None,
        output: str = "y",
        **more: Iterable[Any],
    ) -> Callable[[Target], Target]: ...

    def bench(*_target: Any, **_options: Any) -> Any: ...

else:
    from opbench.worker.stub.bench import bench
