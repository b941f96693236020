"""Operators from Python as classic classes: one per operator, and a function per category.

    from opbench.ops import Add, run_all_arithmetic_operations_benchmarks
    run_all_arithmetic_operations_benchmarks()              # prints a line per operator
    add = Add(framework="mxnet", inputs={"dtype": "float64"})
    add.run_benchmark()
    add.print_benchmark_results()                           # MX_Add_Forward_Backward_Time - …

The classes are those of the catalogue (`suites/ops/catalogue`), made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from opbench.compat.operator_benchmark import OperatorBenchmark, measure
from opbench.errors import nearest

BEGIN, END = "run_all_", "_operations_benchmarks"
#: As the classic suite called it.
CUSTOM = "run_customop_operations_benchmarks"


@cache
def classes(framework: str = "torch") -> dict[str, type[OperatorBenchmark]]:
    """The class of every operator, by the operator's name."""
    from opbench.suites.ops.catalogue import catalogue

    return {name: _class(operator, framework) for name, operator in catalogue().items()}


@cache
def names(framework: str = "torch") -> dict[str, Any]:
    """Every class and function by name."""
    by_name: dict[str, Any] = {}
    for benchmark in classes(framework).values():
        for name in (benchmark.__name__, *map(camel, benchmark.operator.aliases)):
            by_name.setdefault(name, benchmark)
    # `Topk` besides `TopK`; a name of another's own, as above, comes first.
    for benchmark in classes(framework).values():
        by_name.setdefault(camel(benchmark.operator.name), benchmark)
    for group, listed in groups(framework).items():
        by_name[f"{BEGIN}{group}{END}"] = _runner(group, listed)
    by_name[CUSTOM] = by_name[f"{BEGIN}custom{END}"]
    by_name[f"{BEGIN.removesuffix('_')}{END}"] = _runner("all", list(classes(framework).values()))
    # An alias such as `multi_sgd(foreach)` is no name of Python.
    return {name: each for name, each in by_name.items() if name.isidentifier()}


def groups(framework: str) -> dict[str, list[type[OperatorBenchmark]]]:
    """What each function runs: a category, a group of the classic suite, or that suite."""
    from opbench.suites.ops.catalogue import CATEGORIES
    from opbench.suites.ops.groups import GROUPS

    known = classes(framework)
    categories = {
        category: [each for each in known.values() if each.operator.category == category]
        for category in CATEGORIES
    }
    classic = {
        group: [_block(known, known[name]) if gluon(group, framework) else known[name]
                for name in listed]
        for group, listed in GROUPS.items()
    }  # fmt: skip
    together = list(dict.fromkeys(each for listed in classic.values() for each in listed))
    return {**categories, **classic, "classic": together}


def gluon(group: str, framework: str) -> bool:
    return framework == "mxnet" and group.startswith("gluon_")


def _block(
    known: dict[str, type[OperatorBenchmark]], benchmark: type[OperatorBenchmark]
) -> type[OperatorBenchmark]:
    """Gluon's block of that name, as the classic suite measured it; the operator without one."""
    return known.get(f"gluon_{benchmark.__name__}", benchmark)


@cache
def gluon_names() -> dict[str, Any]:
    """The same on MXNet, where a name of Gluon is the block of Gluon."""
    known = names("mxnet")
    blocks = {name.removeprefix("Gluon"): each for name, each in known.items()
              if name.startswith("Gluon")}  # fmt: skip
    return {**known, **blocks}


def _class(operator: Any, framework: str) -> type[OperatorBenchmark]:
    name = operator.classic or camel(operator.name)
    attributes = {
        "operator": operator,
        "default_framework": framework,
        "__doc__": f"The operator `{operator.name}` ({operator.category}).",
        "__module__": "opbench.ops",
    }
    return type(name, (OperatorBenchmark,), attributes)


def _runner(group: str, classes: list[type[OperatorBenchmark]]) -> Callable[..., Any]:
    def run(
        framework: str | None = None, inputs: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, float]]:
        benchmarks = [each(framework=framework, inputs=inputs, **options) for each in classes]
        measure(benchmarks, on_result=OperatorBenchmark.print_benchmark_results)
        return [each.get_benchmark_results() for each in benchmarks]

    run.__name__ = f"{BEGIN}{group}{END}"
    run.__doc__ = (
        f"Measure the operators of `{group}`; a line for each, and their results as dicts."
    )
    return run


def camel(name: str) -> str:
    """`log_softmax` → `LogSoftmax`, `relu_` → `InplaceRelu`; names with capitals keep them."""
    if name.endswith("_"):
        return f"Inplace{camel(name[:-1])}"
    if name != name.lower():
        return name
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def attributes_of(
    framework: str, module: str, gluon: bool = False
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module that holds the operators."""

    def every() -> dict[str, Any]:
        return gluon_names() if gluon else names(framework)

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(every())
        if name.startswith("__"):
            raise AttributeError(name)
        known = every()
        if name not in known:
            hint = nearest(name, known)
            raise AttributeError(f"{module} has no operator or function '{name}'{hint}")
        return known[name]

    return get, lambda: sorted(every())
