"""What `@ob.bench` is given, checked where it is written. Standard library only, Python 3.9."""

from __future__ import annotations

import ast
import inspect
import textwrap

from .addresses import BenchError
from .written import Unsendable, Written
from .written import label as label_of

#: The default stages of each kind of benchmark.
DEFAULT_STAGES = {
    "function": ("call",),
    "generator": ("call",),
    "module": ("forward", "backward", "forward_backward"),
}
TRAINING = ("forward", "backward", "forward_backward")
#: Axes that opbench uses itself; they need not be parameters of the benchmark.
RESERVED = ("threads",)

OPTIONS = ("name", "group", "axes", "stages", "inputs", "output")
#: Values that are written as they are.
PLAIN = (str, int, float, bool, type(None))


def check_axes(axes, more, label):
    """(axis → labels, axis → [label, expression, lines] of values that are no literals)."""
    axes = {} if axes is None else axes
    if not isinstance(axes, dict):
        raise BenchError(f'{label}: axes must be a dict such as {{"n": [64, 1024]}}, not {axes!r}')
    for axis in more:
        if axis in axes:
            raise BenchError(f"{label}: the axis {axis} is given twice")
    labels, written = {}, {}
    for axis, values in {**more, **axes}.items():
        no_list = isinstance(values, (str, bytes)) or not hasattr(values, "__iter__")
        if no_list and axis in more:
            check_option(axis, label)
        if not (isinstance(axis, str) and axis.isidentifier()) or axis in ("seed", "stage"):
            hint = "; did you mean stages=?" if axis == "stage" else ""
            raise BenchError(f"{label}: {axis!r} cannot be the name of an axis{hint}")
        if no_list:
            raise BenchError(f"{label}: axis {axis} needs a list of values, not {values!r}")
        labels[axis], written[axis] = check_values(axis, values, label)
    return labels, {axis: entries for axis, entries in written.items() if entries}


def check_option(name, label):
    """Raise where this looks like an option that was misspelt."""
    import difflib  # only for mistakes: every child imports this file

    for near in difflib.get_close_matches(name, OPTIONS, n=1):
        raise BenchError(f"{label}: unknown option {name}; did you mean {near}=?")


def check_values(axis, values, label):
    named = values if isinstance(values, dict) else {}
    pairs = list(named.items()) or [(label_of(value), value) for value in values]
    if not pairs:
        raise BenchError(f"{label}: axis {axis} has no values")
    written = []
    for text, value in pairs:
        if type(text) not in (str, int, float, bool) and value is not None:
            raise BenchError(
                f"{label}: axis {axis} has the value {value!r}, which has no name; give it one: "
                f'{axis}={{"name": …}}'
            )
        if text is value and type(value) in PLAIN:
            continue
        lines = Written()
        try:
            written.append([text, lines.expression(value), lines.text])
        except Unsendable as error:
            raise BenchError(
                f"{label}: axis {axis} has a value that a fresh process cannot make: {error}; use "
                "its name, and look the object up inside"
            ) from None
    texts = [(type(text), text) for text, _ in pairs]
    if len(set(texts)) < len(texts):
        several = next(text for _, text in texts if texts.count((type(text), text)) > 1)
        raise BenchError(
            f"{label}: axis {axis} has the value {several!r} twice; give them names: "
            f'{axis}={{"first": …, "second": …}}'
        )
    return tuple(text for text, _ in pairs), written


def check_parameters(makers, axes, label, filled=""):
    """Which axes each callable takes by name; every axis must be taken by one of them. `filled` is
    the one whose other parameters get the inputs."""
    takes = {}
    for role, maker in makers.items():
        try:
            parameters = inspect.signature(maker).parameters.values()
        except (TypeError, ValueError):  # builtins and compiled kernels have no signature
            takes[role] = [axis for axis in axes if axis not in RESERVED] if role != filled else []
            continue
        name = getattr(maker, "__name__", label)
        if any(p.kind is p.VAR_KEYWORD for p in parameters) and role != filled:
            takes[role] = [axis for axis in axes if axis not in RESERVED]
        else:
            named = [
                p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            ]
            # `device` is passed to any callable that names it: so --device reaches a benchmark.
            takes[role] = [n for n in named if n in axes or (n == "device" and role != filled)]
        for p in parameters:
            wanted = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if wanted and p.name not in takes[role] and role != filled:
                raise BenchError(
                    f"{label}: the parameter {p.name} of {name} has no value; give it values, "
                    f"@ob.bench({p.name}=[...]), or a default"
                )
    for axis in axes:
        if axis not in RESERVED and not any(axis in names for names in takes.values()):
            names = " or ".join(
                getattr(maker, "__name__", label) for maker in reversed(makers.values())
            )
            raise BenchError(f"{label}: the axis {axis} is not a parameter of {names}")
    return takes


def positional(function):
    """Names of the parameters that positional inputs fill, in their order."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def check_stages(stages, kind, has_inputs, label):
    if stages is None:
        return DEFAULT_STAGES[kind]
    stages = (stages,) if isinstance(stages, str) else tuple(stages)
    if kind == "module":
        allowed = list(TRAINING)
    elif kind == "function" and has_inputs:
        allowed = ["call", *TRAINING]
    else:
        allowed = ["call", "forward"]
    for stage in stages:
        if stage not in allowed:
            advice = "" if has_inputs else "; backward stages need inputs="
            raise BenchError(
                f"{label}: a {kind} has the stages {', '.join(allowed)}, not {stage!r}{advice}"
            )
    if not stages or len(set(stages)) < len(stages):
        raise BenchError(f"{label}: stages must name each stage once")
    return stages


def check_name(name, label):
    if name is None:
        return label
    if not isinstance(name, str) or not name or set(name) & set("[]/,= \n"):
        raise BenchError(f"{label}: name {name!r} must be text without spaces or any of [ ] / , =")
    return name


def check_output(output, label):
    try:
        ast.parse(output, mode="eval")
    except (SyntaxError, TypeError, ValueError):
        raise BenchError(f"{label}: output {output!r} is not an expression over y") from None
    return output


def check_yields(generator, label):
    """Raise where the source shows a second `yield`: only what the first yields is timed."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(generator)))
    except (OSError, TypeError, SyntaxError):
        return
    if isinstance(tree.body[0], ast.FunctionDef) and yields_of(tree.body[0].body) > 1:
        raise BenchError(
            f"{label} yields more than once; a benchmark yields one callable, which is timed: make "
            "each a function of its own, or choose by an axis"
        )


def yields_of(statements):
    """How often a block yields, as far as nothing in it decides whether it does."""
    count = 0
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Raise)):
            break
        if isinstance(statement, (ast.With, ast.Try)):
            count += yields_of(statement.body)
        elif isinstance(getattr(statement, "value", None), ast.Yield):
            count += 1
    return count


def result_of(inputs):
    """What an inputs function returns: `tuple`, `dict`, or `any` if its source does not show it;
    and how many items a tuple has, where its source shows that."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inputs)))
    except (OSError, TypeError, SyntaxError):
        return {"kind": "any", "count": None}
    found_values = []
    todo: list = list(tree.body[0].body) if isinstance(tree.body[0], ast.FunctionDef) else []
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Return):
            found_values.append(node.value)
        todo.extend(ast.iter_child_nodes(node))
    kinds = {kind_of_expression(value) for value in found_values}
    counts = {count_of(value) for value in found_values}
    return {
        "kind": kinds.pop() if len(kinds) == 1 else "any",
        "count": counts.pop() if len(counts) == 1 else None,
    }


def count_of(value):
    """Items of a tuple that is written out; None where that is not known."""
    if not isinstance(value, (ast.Tuple, ast.List)):
        return None
    return None if any(isinstance(e, ast.Starred) for e in value.elts) else len(value.elts)


def kind_of_expression(value):
    if isinstance(value, (ast.Tuple, ast.List)):
        return "tuple"
    called = (
        value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    )
    return "dict" if isinstance(value, ast.Dict) or called == "dict" else "any"
