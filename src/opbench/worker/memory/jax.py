"""Memory of a jitted call, as XLA planned it: results and scratch space, to the byte.

XLA decides in advance how much memory a compiled function needs; `memory_analysis` reports it.
"""

import ast
import sys

from ..session import Unsupported


def measure(session):
    call, arguments = compiled_call(session)
    plan = call.lower(*arguments).compile().memory_analysis()
    if plan is None:
        raise Unsupported("this backend of JAX does not report what a call allocates")
    # XLA adds a table of pointers to several results; the results alone are what a call makes.
    made = sys.modules["jax"].tree.leaves(sys.modules["jax"].eval_shape(call, *arguments))
    output, scratch = sum(map(size_of, made)), plan.temp_size_in_bytes
    given = plan.argument_size_in_bytes
    detail = {
        "source": "XLA memory analysis",
        "max_memory": given + output + scratch,
        "components": {
            name: sizes_of(session.evaluate(expression))
            for name, expression in session.case.get("components") or ()
        },
        "stages": {"before": given, "after_forward": given + output},
        "scratch": scratch,
        "code": plan.generated_code_size_in_bytes,
    }
    return {"results": {"memory": {"samples": [output + scratch], "detail": detail}}}


def compiled_call(session):
    """The jitted function that the statement calls, and its arguments."""
    for node in ast.walk(ast.parse(session.case["stmt"])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = session.evaluate(node.func.id)
            if hasattr(found, "lower"):
                return found, [session.evaluate(ast.unparse(arg)) for arg in node.args]
    raise Unsupported("JAX reports what a jitted call allocates; this statement makes none")


def size_of(shape):
    return int(shape.size) * int(shape.dtype.itemsize)


def sizes_of(value):
    if isinstance(value, dict):
        return sum(map(sizes_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(sizes_of, value))
    return int(getattr(value, "nbytes", 0))
