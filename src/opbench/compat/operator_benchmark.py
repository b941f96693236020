"""One operator with its inputs, measured from Python: what the classes of `opbench.ops` are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opbench import frameworks
from opbench.case import Case
from opbench.define.expand import expand
from opbench.define.program import NORMAL, ONES, ZEROS, Domain, uniform
from opbench.errors import UserError, nearest, unknown
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.suites.ops.definition import OperatorDefinition, operator_definition
from opbench.suites.ops.entry import FRAMEWORKS, Operator

PREFIXES = {
    "torch": "PT",
    "torch_compile": "PTC",
    "jax": "JAX",
    "onnxruntime": "ORT",
    "mxnet": "MX",
    "numpy": "NP",
}
#: Each input from the domain the catalogue says it needs.
OWN = "domain"
INITIALIZERS = {"normal": NORMAL, "uniform": uniform(0.0, 1.0), "ones": ONES, "zeros": ZEROS}


class OperatorBenchmark:
    """An operator at given inputs. `inputs` may be read, with every default filled in, before
    anything runs; `run_backward=False` measures the forward pass alone."""

    operator: Operator
    default_framework = "torch"

    def __init__(
        self,
        ctx: Any = None,
        warmup: int | None = None,
        runs: int | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        framework: str | None = None,
        size: str = "typical",
        precision: float = 0.05,
        max_time: float = 4.0,
        threads: int = 1,
    ) -> None:
        """`runs` asks for that many single calls instead of a precision, as the classic suite did.
        `warmup` is accepted and ignored: workers warm up until the time has settled."""
        self.framework = framework or self.default_framework
        if self.framework not in FRAMEWORKS:
            raise UserError(unknown("framework", self.framework, FRAMEWORKS))
        self.device = device_of(ctx)
        self.runs, self.precision, self.max_time = runs, precision, max_time
        self.threads = threads
        self.inputs = self._filled(inputs or {}, size)
        self._given = dict(inputs or {})
        self._size = size
        self._arrays: tempfile.TemporaryDirectory[str] | None = None
        self.case: Case | None = None
        self.result: Result | None = None

    def _filled(self, given: Mapping[str, Any], size: str) -> dict[str, Any]:
        """The operator's parameters, then the three inputs that every operator has."""
        values = vars(self.operator.values(size))
        known = {name: values[name] for name in self.operator.params}
        known.update(
            initializer=self._own_initializer(),
            run_backward=self._goes_backward(),
            dtype="float32",
        )
        for name in given:
            if name not in known:
                raise UserError(
                    f"{type(self).__name__} has no input '{name}' (it takes {', '.join(known)})"
                    f"{nearest(name, known)}"
                )
        return {**known, **given}

    def _own_initializer(self) -> str:
        domains = [each.domain for each in self.operator.inputs if not each.dtype]
        return "normal" if domains and all(each == NORMAL for each in domains) else OWN

    def _goes_backward(self) -> bool:
        call = self.operator.call(self.framework)
        return (
            self.operator.differentiable
            and not self.operator.parts
            and frameworks.get(self.framework).autograd
            and (call is None or call.differentiable)
        )

    @property
    def stage(self) -> str:
        return "forward_backward" if self.inputs["run_backward"] else "forward"

    @property
    def name(self) -> str:
        """`MX_Inplace_Add_Forward_Time`."""
        printed = self.operator.printed or type(self).__name__
        passes = "Forward_Backward" if self.inputs["run_backward"] else "Forward"
        return f"{PREFIXES[self.framework]}_{printed}_{passes}_Time"

    # -- measuring -------------------------------------------------------------------------

    def run_benchmark(self) -> None:
        measure([self])

    def make_case(self) -> Case:
        """The case these inputs stand for; every mistake in them is found here."""
        axes: dict[str, Sequence[Any]] = {
            "framework": [self.framework],
            "size": [self._size],
            "dtype": [self.inputs["dtype"]],
        }
        if self.operator.parts:
            axes["form"] = ["fused"]
        (case,) = expand(
            [self._definition()],
            axes=axes,
            stages=(self.stage,),
            device=self.device,
            threads=self.threads,
        )
        self.case = case
        return case

    def _definition(self) -> OperatorDefinition:
        own = ("initializer", "run_backward", "dtype")
        given = {name: value for name, value in self._given.items() if name not in own}
        for name, value in given.items():
            given[name] = tuple(value) if isinstance(value, list) else value
        initializer = self.inputs["initializer"]
        domains: dict[str, Domain] = {}
        label = None
        if initializer != self._own_initializer():
            domains, label = self._domains(initializer, given)
        return operator_definition(self.operator, given, domains, label)

    def _domains(self, initializer: Any, given: dict[str, Any]) -> tuple[dict[str, Domain], str]:
        drawn = [each for each in self.operator.inputs if not each.dtype]
        if callable(initializer):
            values = self.operator.values(self._size, self.inputs["dtype"], given)
            shapes = {each.name: each.shape_at(values) for each in drawn}
            files = {name: self._stored(initializer, name, shape) for name, shape in shapes.items()}
            return files, str(getattr(initializer, "__name__", "callable"))
        if initializer == OWN:
            return {}, OWN
        if initializer not in INITIALIZERS:
            raise UserError(
                f"{unknown('initializer', str(initializer), (*INITIALIZERS, OWN))} (or give a "
                "callable that makes an array of a given shape)"
            )
        return dict.fromkeys((each.name for each in drawn), INITIALIZERS[initializer]), initializer

    def _stored(self, initializer: Callable[..., Any], name: str, shape: tuple) -> Domain:
        """The array that a user's callable makes, in a file that the worker reads: the callable
        itself may be anything, and workers run in other processes and environments."""
        import numpy as np

        values = initializer(shape)
        for convert in ("detach", "cpu", "asnumpy", "numpy"):
            values = getattr(values, convert)() if hasattr(values, convert) else values
        array = np.ascontiguousarray(values, dtype=str(self.inputs["dtype"]))
        if array.shape != tuple(shape):
            raise UserError(
                f"the initializer made an array of shape {array.shape} for {name}, not {shape}"
            )
        if self._arrays is None:
            self._arrays = tempfile.TemporaryDirectory(prefix="opbench-inputs-")
        path = Path(self._arrays.name) / f"{name}.raw"
        array.tofile(path)
        return Domain("file", path=str(path))

    # -- results ---------------------------------------------------------------------------

    def get_benchmark_results(self) -> dict[str, float]:
        """Seconds per call by the name of the line; empty without a time."""
        if self.result is None or self.result.estimate is None or not self.result.ok:
            return {}
        return {self.name: self.result.estimate}

    def get_statistics(self) -> dict[str, float]:
        """p50, p90, p99 and mean of the samples, the estimate and its 95 % interval; empty
        without a time."""
        from dataclasses import asdict

        from opbench.stats.quantiles import quantiles

        result = self.result
        if result is None or not result.ok or result.estimate is None:
            return {}
        spread = quantiles([sample.value for sample in result.samples])
        interval = {"estimate": result.estimate, "low": result.low, "high": result.high}
        return {**(asdict(spread) if spread else {}), **interval}

    def print_benchmark_results(self) -> None:
        print(self.line(), flush=True)

    def line(self) -> str:
        if self.result is None:
            return f"{self.name} - not measured yet: call run_benchmark()"
        if not self.result.ok:
            return f"{self.name} - {self.result.outcome_text}"
        return f"{self.name} - {self.result.estimate:.6f} seconds"


class Delivery(Listener):
    """Hands each result to the benchmark it belongs to, as it comes."""

    def __init__(
        self,
        waiting: Iterable[OperatorBenchmark],
        on_result: Callable[[OperatorBenchmark], None] | None,
    ) -> None:
        self.waiting = {each.case.hash: each for each in waiting if each.case is not None}
        self.on_result = on_result

    def measured(self, case: Case, result: Result) -> None:
        benchmark = self.waiting.get(case.hash)
        if benchmark is None or result.unit != "s":
            return
        first = benchmark.result is None
        benchmark.result = result
        if first and self.on_result is not None:
            self.on_result(benchmark)


def measure(
    benchmarks: Sequence[OperatorBenchmark],
    on_result: Callable[[OperatorBenchmark], None] | None = None,
) -> None:
    """Measure them in one run, whose workers serve them all; a failure is a result as well."""
    from opbench.api.run import execute

    if not benchmarks:
        return
    cases = [each.make_case() for each in benchmarks]
    for each in benchmarks:
        each.result = None
    first = benchmarks[0]
    options = {
        "precision": first.precision,
        "max_time_per_case": first.max_time,
        "num_runs": first.runs,
        "num_repeats": None if first.runs is None else 1,
        "device": first.device,
        "save": False,
    }
    execute(options, cases=cases, listener=Delivery(benchmarks, on_result))


def device_of(ctx: Any) -> str:
    """`cpu`, `cuda`, `mx.gpu(0)`, `gpu(1)`: a device as this and other programs write it."""
    text = str(ctx or "cpu").lower().replace("gpu", "cuda").replace("(", ":").rstrip(")")
    kind, _, index = text.partition(":")
    return kind if kind == "cpu" or index in ("", "0") else f"{kind}:{index}"
