"""Entries of the catalogue run in this process, on the same inputs in each framework.

What a run does in workers, with less around it: for tests of what an entry computes. One test asks
one thing of many entries and names all that fail: a test for each would take longer to report than
to run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from opbench import frameworks
from opbench.define.expand import expand
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.programs import program

#: Some gradients came with the release that is pinned here (`aminmax`).
OLDER_TORCH = tuple(map(int, version("torch").split(".")[:2])) < (2, 13)
#: Frameworks that this process can import together.
HERE = ("torch", "jax", "numpy")
CONVERT = {
    "torch": "torch.from_numpy({0}.copy())",
    "jax": "jnp.asarray({0})",
    "numpy": "{0}.copy()",
}


def check_all(
    operators: Iterable[Any],
    check: Callable[[Any], None],
    name: Callable[[Any], str] = lambda operator: operator.name,
) -> None:
    """Every operator passes the check; those that do not are listed with what it said."""
    failed = []
    for operator in operators:
        try:
            check(operator)
        except Exception as error:
            if OLDER_TORCH and "derivative for aten::" in str(error):
                continue  # which a run calls unsupported
            failed.append(f"{name(operator)}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)


def case_of(name: str, framework: str, stage: str = "forward", **axes: Any):
    (case,) = expand(
        [operator_definition(catalogue()[name])],
        axes={"framework": [framework], "size": ["small"], **{k: [v] for k, v in axes.items()}},
        stages=[stage],
    )
    return case


def leave_the_gpu_alone(framework: str) -> None:
    """JAX would take three quarters of its memory for this process, and round as GPUs do."""
    if framework == "jax":
        import jax

        jax.config.update("jax_platforms", "cpu")


def prepared(case) -> dict[str, Any]:
    """The names of the case after its set-up."""
    names: dict[str, Any] = {"seed": 0}
    leave_the_gpu_alone("jax" if "import jax" in case.globals else "")
    exec(case.globals, names)
    exec(case.setup, names)
    return names


def called(case, calls: int = 1) -> dict[str, Any]:
    names = prepared(case)
    before, stmt = (compile(text, "case", "exec") for text in (case.before, case.stmt))
    for _ in range(calls):
        exec(before, names)
        exec(stmt, names)
    return names


def computed(name: str, framework: str, size: str = "small", /, **given: Any) -> Any:
    """What the entry's own text computes, of inputs that are the same in every framework."""
    operator = catalogue()[name]
    values = operator.values(size, given=given)
    source = program(operator, frameworks.get(framework), values, "cpu")
    assert not source.unsupported, source.unsupported
    drawn: dict[str, Any] = {"np": np, "rng": np.random.default_rng(0), "seed": 0}
    names: dict[str, Any] = dict(drawn)
    leave_the_gpu_alone(framework)
    exec(frameworks.get(framework).imports(), names)
    if framework == "jax":
        exec("key = jax.random.key(seed)", names)
    for tensor in source.inputs:
        # NumPy has no half of that kind.
        half = tensor.dtype == "bfloat16"
        plain = replace(tensor, dtype="float32") if half else tensor
        drawn["x"] = eval(frameworks.get("numpy").tensor(plain, "cpu", False), drawn)
        names["x"] = drawn["x"]
        made = eval(CONVERT[framework].format("x"), names)
        names[tensor.name] = made.bfloat16() if half else made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source.globals, names)
        exec(source.setup, names)
        exec(source.before, names)
        exec(source.forward, names)
        # The first update of a weight does not show its momentum, and equal ones hide it.
        for _ in range(2 if operator.category == "optimizer" and "gradient" in names else 0):
            names["gradient"] *= -0.7
            exec(source.before, names)
            exec(source.forward, names)
    return as_arrays(eval(source.compared or source.output, names))


def as_arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for each in value for array in as_arrays(each)]
    if hasattr(value, "detach"):
        plain = value.dequantize() if value.is_quantized else value
        value = plain.detach().float() if str(plain.dtype) == "torch.bfloat16" else plain.detach()
    return [np.asarray(value)]
