"""From an entry, a framework and values of the parameters to a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from opbench.case import Work
from opbench.define.program import Domain, Program, Tensor, integers, lines
from opbench.suites.ops.entry import (
    COMPLEX,
    FLOAT8,
    INDEX,
    INDEX_DTYPES,
    Call,
    DType,
    Input,
    Operator,
    Values,
    elements,
    itemsize,
    numbers,
)

if TYPE_CHECKING:
    from opbench.define.definition import Spelling

#: What a tensor of whole numbers is filled with where the entry speaks of floats: small enough that
#: sums and products of a few stay in range, and never zero, for divisions.
WHOLE = integers(1, 100)
#: Those that eight bits hold.
SHORT = integers(1, 10)

EMULATED = "emulated: several operators stand for one that it lacks"
FUNCTIONAL = "import torch.nn.functional as F"


def program(
    operator: Operator,
    framework: Spelling,
    values: Values,
    device: str,
    domains: Mapping[str, Domain] | None = None,
) -> Program:
    """The forward statement with everything it needs, or why it is unsupported. `domains` replace
    those of the entry, by the name of the input."""
    call = operator.call(framework.name)
    reason = refusal(operator, call, framework.name, values, device)
    if not reason and framework.dtypes and values.dtype not in framework.dtypes:
        reason = f"{values.dtype} is not measured in {framework.name}"
    if reason or call is None:
        return Program("pass", unsupported=reason)

    def filled(text: str | Callable[[Values], str]) -> str:
        if callable(text):
            return text(values)
        return text.format_map(placeholders(operator, framework, values, device)) if text else ""

    forward, setup, before = (filled(text) for text in (call.text, call.setup, call.before))
    differentiable = operator.differentiable and call.differentiable
    uses_functional = framework.name.startswith("torch") and re.search(r"\bF\.", forward + setup)
    return Program(
        forward=assigned(forward),
        inputs=tuple(
            tensor(each, values, differentiable, framework.name, domains)
            for each in operator.inputs
        ),
        globals=lines(FUNCTIONAL if uses_functional else "", call.globals),
        setup=setup,
        output=call.output,
        compared=filled(call.compared),
        gradients=tuple(call.gradients(values).items()) if call.gradients else (),
        compilable=call.compilable,
        scalar=operator.scalar,
        several=operator.several,
        before=before,
        preload=call.preload,
        parity=operator.parity,
        tolerance=operator.tolerance,
        work=work(operator, values),
    )


def refusal(
    operator: Operator, call: Call | None, framework: str, values: Values, device: str
) -> str:
    """Why the framework cannot compute this, as far as the catalogue knows."""
    if call is None:
        library = "torch" if framework == "torch_compile" else framework
        absent = operator.absent.get(framework) or operator.absent.get(library)
        return absent or f"{library} has no operator {operator.name}"
    dtypes = call.dtypes or operator.dtypes
    if values.dtype not in dtypes:
        return f"{operator.name} is measured in {', '.join(dtypes)}, not in {values.dtype}"
    if framework == "torch_compile" and not call.compilable:
        return "nothing here for torch.compile to compile"
    if device.partition(":")[0] not in call.devices:
        return f"{framework} has {operator.name} on {', '.join(call.devices)} only"
    return ""


def remarks(operator: Operator, framework: Spelling, dtype: str, device: str) -> list[str]:
    """What a reader of its times in this framework should know."""
    call = operator.call(framework.name)
    if call is None:
        return []
    said = (EMULATED if call.emulated else "", call.note)
    return [text for text in (*said, caveat(operator, framework, dtype, device)) if text]


def caveat(operator: Operator, framework: Spelling, dtype: str, device: str) -> str:
    """What is true of all operators of the framework on this dtype, or with such a result."""
    return framework.caveat(dtype, operator.result_dtype or dtype, device)


def placeholders(
    operator: Operator, framework: Spelling, values: Values, device: str
) -> dict[str, str]:
    """What `{name}` stands for in a spelling."""

    def dtype(name: str) -> str:
        return f"torch.{name}" if framework.name.startswith("torch") else repr(name)

    parameters = {
        name: dtype(str(value)) if isinstance(operator.params.get(name), DType) else repr(value)
        for name, value in vars(values).items()
    }
    return {
        **parameters,
        "axes": repr(numbers(getattr(values, "axis", ()))),
        "dtype": dtype(str(values.dtype)),
        "device": repr(device),
        "options": framework.options(str(values.dtype), device),
    }


def assigned(text: str) -> str:
    """A bare expression is given to `y`; statements are left as they are."""
    body = ast.parse(text).body
    return f"y = {text}" if len(body) == 1 and isinstance(body[0], ast.Expr) else text


def tensor(
    given: Input,
    values: Values,
    differentiable: bool,
    framework: str,
    domains: Mapping[str, Domain] | None = None,
) -> Tensor:
    dtype = given.dtype_at(values)
    if given.dtype == INDEX:
        dtype = INDEX_DTYPES.get(framework, INDEX)
    domain = (domains or {}).get(given.name) or given.domain_at(values)
    whole = not is_floating(dtype)
    return Tensor(
        name=given.name,
        shape=given.shape_at(values),
        dtype=dtype,
        domain=whole_numbers(domain, dtype) if whole else domain,
        grad=given.grad and differentiable and has_gradients(dtype),
        weight=given.weight,
        layout=str(getattr(values, "layout", "")),
    )


def is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))


def has_gradients(dtype: str) -> bool:
    """Nothing has gradients of whole numbers, nor of eight bits."""
    return is_floating(dtype) and dtype != FLOAT8


def whole_numbers(domain: Domain, dtype: str) -> Domain:
    if domain.kind not in ("normal", "uniform"):
        return domain
    return SHORT if dtype == "int8" else WHOLE


def work(operator: Operator, values: Values) -> Work | None:
    """FLOPs and bytes of one forward call; None where no formula says how many: all are of real
    numbers."""
    if operator.flops is None or values.dtype == COMPLEX:
        return None
    result = elements(operator.result_shape(values))
    flops = operator.flops(values) if callable(operator.flops) else operator.flops * result
    return Work(float(flops), traffic(operator, values))


def traffic(operator: Operator, values: Values) -> float:
    """Bytes of one forward call: each input read once, the result written once."""
    if operator.traffic is not None:
        return operator.traffic(values)
    return held(operator, values, operator.partly)


def held(operator: Operator, values: Values, partly: Sequence[str] = ()) -> float:
    """Bytes of the inputs and the result; of inputs in `partly`, as many elements as of that."""
    result = elements(operator.result_shape(values))
    given = sum(
        (result if each.name in partly else elements(each.shape_at(values)))
        * itemsize(each.dtype_at(values))
        for each in operator.inputs
    )
    return float(given + result * itemsize(operator.result_dtype or values.dtype))
