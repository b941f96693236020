"""One operator with its inputs, measured from Python: what the classes of `opbench.ops` are."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from opbench import children, frameworks
from opbench.case import Case
from opbench.compat.initializers import INITIALIZERS, domain, normal
from opbench.define.expand import check_reserved, expand
from opbench.define.program import NORMAL, Domain
from opbench.errors import UserError, nearest, plural, unknown
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.suites.ops.definition import OperatorDefinition, operator_definition
from opbench.suites.ops.entry import ALL, FRAMEWORKS, Operator
from opbench.suites.ops.given import check, completed, read
from opbench.suites.ops.programs import has_gradients, refusal

PREFIXES = {
    "torch": "PT",
    "torch_compile": "PTC",
    "jax": "JAX",
    "onnxruntime": "ORT",
    "mxnet": "MX",
    "numpy": "NP",
}
#: An answer within ten seconds: a worker start takes as long as importing its framework.
MOST_STARTS = 5
#: Inputs that every operator has.
OWN_INPUTS = ("initializer", "run_backward", "dtype")


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
        store: str | None = None,
        **parameters: Any,
    ) -> None:
        """`Add(lhs=(8, 8))` is the same as `Add(inputs={"lhs": (8, 8)})`. Without a `framework`
        it is that of the module which the class is from.

        `runs` asks for that many single calls instead of a precision, as the classic suite did.
        `warmup` is accepted and ignored: workers warm up until the time has settled. `store` keeps
        the results as a run does: a path ending in .db, or a URL. A mistake raises UserError here,
        before anything runs."""
        checked_numbers(runs=runs, precision=precision, max_time=max_time, threads=threads)
        if warmup is not None and (type(warmup) is not int or warmup < 0):
            raise UserError(f"warmup must be a whole number from 0 up, not {warmup!r}")
        check_store(store)
        if inputs is not None and not isinstance(inputs, Mapping):
            raise UserError(f"inputs is a dict such as {{'dtype': 'float64'}}, not {inputs!r}")
        self.store = store
        self.framework = self.default_framework if framework is None else framework
        if self.framework not in FRAMEWORKS:
            raise UserError(unknown("framework", str(self.framework), FRAMEWORKS))
        self.device = device_of(ctx)
        check_reserved({"device": [self.device]})
        self.runs, self.precision, self.max_time = runs, precision, max_time
        self.threads = threads
        if size not in ("typical", *self.operator.sizes):
            raise UserError(unknown("size", str(size), ("typical", *self.operator.sizes)))
        self._size = size
        self._given = self._together(inputs or {}, parameters)
        self.inputs = self._filled(self._given, size)
        self._arrays: tempfile.TemporaryDirectory[str] | None = None
        self.case: Case | None = None
        self.result: Result | None = None
        self._check()

    def _together(self, inputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was given in `inputs` and as keywords."""
        known = (*self.operator.params, *OWN_INPUTS)
        for name in parameters:
            if name not in known:
                near = nearest(name, (*known, *inspect.signature(type(self)).parameters))
                raise UserError(
                    f"{type(self).__name__} has no input or keyword '{name}' (its inputs are "
                    f"{', '.join(known)}){near}"
                )
            if name in inputs:
                raise UserError(f"{name} is given twice: in inputs, and as a keyword")
        return {**inputs, **parameters}

    def _check(self) -> None:
        """Every mistake in the inputs, found before anything runs."""
        known = tuple(dict.fromkeys((*ALL, *self.operator.dtypes)))
        dtype = self.inputs["dtype"]
        if dtype not in known:
            raise UserError(unknown("dtype", str(dtype), known))
        if not isinstance(self.inputs["run_backward"], bool):
            raise UserError(f"run_backward is True or False, not {self.inputs['run_backward']!r}")
        for name, value in self._parameters().items():
            if isinstance(value, str) and isinstance(self.operator.params[name], tuple):
                like = self.operator.params[name]
                raise UserError(f"{name} takes a shape such as {like}, not {value!r}")
        given = completed(self.operator, self._size, read(self.operator, self._parameters()))
        values = self.operator.values(self._size, dtype, given)
        check(self.operator, self._size, values, self.framework)
        if "dtype" in self._given and (call := self.operator.call(self.framework)):
            reason = refusal(self.operator, call, self.framework, values, self.device)
            if reason:
                raise UserError(reason)
        self.inputs.update(given)
        self._initializer()

    def _parameters(self) -> dict[str, Any]:
        """What was given of the operator's own parameters."""
        return {name: value for name, value in self._given.items() if name not in OWN_INPUTS}

    def _initializer(self) -> tuple[Any, str]:
        """The function that fills the inputs, and its name."""
        chosen = self.inputs["initializer"]
        if callable(chosen):
            return chosen, str(getattr(chosen, "__name__", "callable"))
        if chosen not in tuple(INITIALIZERS):
            raise UserError(
                f"{unknown('initializer', str(chosen), INITIALIZERS)} (or give a callable that "
                "makes an array of a given shape)"
            )
        return INITIALIZERS[chosen][0], str(chosen)

    def _filled(self, given: Mapping[str, Any], size: str) -> dict[str, Any]:
        """The operator's parameters, then the three inputs that every operator has."""
        values = vars(self.operator.values(size))
        known = {name: values[name] for name in self.operator.params}
        known.update(
            initializer=self._own_initializer(),
            run_backward=self._goes_backward(given.get("dtype")),
            dtype=self.operator.dtype_in(self.framework),
        )
        for name in given:
            if name not in known:
                raise UserError(
                    f"{type(self).__name__} has no input '{name}' (it takes {', '.join(known)})"
                    f"{nearest(name, known)}"
                )
        return {**known, **given}

    def _own_initializer(self) -> Callable[..., Any]:
        domains = [each.domain for each in self.operator.inputs if not each.dtype]
        return normal if domains and all(each == NORMAL for each in domains) else domain

    def _goes_backward(self, dtype: str | None) -> bool:
        call = self.operator.call(self.framework)
        return (
            has_gradients(str(dtype or self.operator.default_dtype))
            and self.operator.differentiable
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
        given = read(self.operator, self._parameters())
        chosen, label = self._initializer()
        if chosen is self._own_initializer():
            return operator_definition(self.operator, given)
        return operator_definition(self.operator, given, self._domains(chosen, given), label)

    def _domains(self, chosen: Any, given: dict[str, Any]) -> dict[str, Domain]:
        drawn = [each for each in self.operator.inputs if not each.dtype]
        for function, known in INITIALIZERS.values():
            if chosen is function:
                return dict.fromkeys((each.name for each in drawn), known) if known else {}
        complete = completed(self.operator, self._size, given)
        values = self.operator.values(self._size, self.inputs["dtype"], complete)
        shapes = {each.name: each.shape_at(values) for each in drawn}
        return {name: self._stored(chosen, name, shape) for name, shape in shapes.items()}

    def _stored(self, initializer: Callable[..., Any], name: str, shape: tuple) -> Domain:
        """The array that a user's callable makes, in a file that the worker reads: the callable
        itself may be anything, and workers run in other processes and environments."""
        import numpy as np

        values = initializer(shape)
        for convert in ("detach", "cpu", "asnumpy", "numpy"):
            values = getattr(values, convert)() if hasattr(values, convert) else values
        with suppress(ImportError):
            import ml_dtypes  # noqa: F401  (NumPy knows the names of its types from then on)
        try:
            dtype = np.dtype(str(self.inputs["dtype"]))
        except TypeError:
            raise UserError(
                f"an initializer of your own needs the package ml_dtypes for {self.inputs['dtype']}"
            ) from None
        array = np.ascontiguousarray(values, dtype=dtype)
        if array.shape != tuple(shape):
            raise UserError(
                f"the initializer made an array of shape {array.shape} for {name}, not {shape}"
            )
        if self._arrays is None:
            self._arrays = tempfile.TemporaryDirectory(prefix="opbench-inputs-")
            children.remove_at_end(Path(self._arrays.name))
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

    def print_benchmark_results(self, details: bool = False) -> None:
        """The classic line; with `details`, the interval and what the result warns of below it."""
        print("\n".join([self.line(), *(self.details() if details else ())]), flush=True)

    def details(self) -> list[str]:
        result = self.result
        if result is None or not result.ok or result.low is None or result.high is None:
            return []
        interval = f"  95 % interval {result.low:.6f} to {result.high:.6f} seconds"
        counted = plural(len(result.samples), "sample")
        return [f"{interval}, {counted}", *(f"  {warning.text}" for warning in result.warnings)]

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
        self._built: set[str] = set()

    def building(self, environment: str, line: str) -> None:
        if environment not in self._built:
            self._built.add(environment)
            said = f"building environment {environment}, which later runs find"
            print(f"opbench: {said}", file=sys.stderr, flush=True)

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
    from opbench.api.run import execute, uninterrupted

    if not benchmarks:
        return
    cases = [each.make_case() for each in benchmarks]
    for each in benchmarks:
        each.result = None
    first = benchmarks[0]
    options = {
        "precision": first.precision,
        "max_time_per_case": first.max_time,
        "max_starts": None if first.runs else MOST_STARTS,
        "num_runs": first.runs,
        "num_repeats": None if first.runs is None else 1,
        "device": first.device,
        "save": first.store is not None,
        "store": first.store,
    }
    uninterrupted(execute(options, cases=cases, listener=Delivery(benchmarks, on_result)))


def checked_numbers(**numbers: Any) -> None:
    """UserError for a number that no run can have."""
    for name, value in numbers.items():
        if value is None and name == "runs":
            continue
        whole = name in ("runs", "threads")
        kinds = (int,) if whole else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < inf:
            what = "a whole number from 1 up" if whole else "a number above 0"
            raise UserError(f"{name} must be {what}, not {value!r}")


def check_store(store: Any) -> None:
    """UserError for what names no store."""
    if store is None:
        return
    if not isinstance(store, str):
        raise UserError(f"store is a path ending in .db or a URL, not {store!r}")
    from opbench.api.run import check_address

    check_address(store)


def device_of(ctx: Any) -> str:
    """`cpu`, `cuda`, `mx.gpu(0)`, `gpu(1)`: a device as this and other programs write it."""
    text = str(ctx or "cpu").lower().replace("gpu", "cuda").replace("(", ":").rstrip(")")
    kind, _, index = text.partition(":")
    return kind if kind == "cpu" or index in ("", "0") else f"{kind}:{index}"
