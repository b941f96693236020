"""`@ob.bench`: registers a function, a generator function or an `nn.Module` as a benchmark.

The one implementation, used by the real package and by its stub in foreign environments, so it
needs the standard library only and Python 3.9. It registers and returns what it decorates,
unchanged, and reports mistakes where they are written.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import os
import sys
import textwrap

#: The default stages of each kind of benchmark.
DEFAULT_STAGES = {
    "function": ("call",),
    "generator": ("call",),
    "module": ("forward", "backward", "forward_backward"),
}
TRAINING = ("forward", "backward", "forward_backward")
#: Axes that opbench uses itself; they need not be parameters of the benchmark.
RESERVED = ("threads",)

OPTIONS = ("name", "axes", "stages", "inputs", "output")

_registered: list = []


class BenchError(TypeError):
    """A benchmark that cannot run; the text says why and what to write instead."""


def registered():
    """The benchmarks registered so far in this process, as plain dictionaries."""
    return _registered


def bench(target=None, *, name=None, axes=None, stages=None, inputs=None, output="y", **more):
    """Register a benchmark. Use as `@ob.bench` or `@ob.bench(n=[64, 1024], …)`.

    n=[…]    any other keyword is an axis: a list of values (text, numbers, true/false, None),
             each passed by name
    axes     more axes, as a dict: for names that clash with an option below
    inputs   a function of the axes that makes the arguments: a tuple, or a dict for keywords;
             not timed
    stages   of `forward`, `backward`, `forward_backward`, or `call` for a plain call
    output   where a backward stage starts, as an expression over the returned `y`: `"y[0]"`
    name     the name of the benchmark; by default that of the function

    A generator function is called once, untimed, and what it yields is called and timed. Of a
    `torch.nn.Module` class one instance is made with the axes that its constructor names.
    """
    if target is None:
        return lambda found: bench(
            found, name=name, axes=axes, stages=stages, inputs=inputs, output=output, **more
        )
    if isinstance(target, (str, dict, list, tuple)):
        raise BenchError("@ob.bench takes its axes by name: @ob.bench(n=[64, 1024])")
    label = getattr(target, "__name__", type(target).__name__)
    module, attribute = address(target, label, "benchmark")
    kind = kind_of(target, label)
    axes = check_axes(axes, more, label)
    if kind == "module" and inputs is None:
        raise BenchError(
            f"{label}: a module needs inputs=, a function that makes the arguments of forward"
        )
    if kind == "generator" and inputs is not None:
        raise BenchError(
            f"{label}: a generator makes its own inputs before it yields; drop inputs="
        )
    makers = {"target": target} if kind == "module" or inputs is None else {}
    inputs_entry = None
    if inputs is not None:
        makers["inputs"] = inputs
        inputs_module, maker = address(inputs, label, "inputs function")
        inputs_entry = {"module": inputs_module, "name": maker, "kind": result_kind(inputs)}
    takes = check_parameters(makers, axes, label)
    if inputs_entry is not None:
        inputs_entry["takes"] = takes["inputs"]
    registered_in, line = place_of_caller()
    entry = {
        "module": module,
        "function": attribute,
        "name": check_name(name, label),
        "kind": kind,
        "axes": [[axis, list(values)] for axis, values in axes.items()],
        "stages": list(check_stages(stages, kind, inputs is not None, label)),
        "inputs": inputs_entry,
        "takes": takes.get("target", []),
        "output": check_output(output, label),
        "registered_in": registered_in,
        "line": line,
    }
    _registered.append(entry)
    return target


def address(target, label, role):
    """(module, name) by which a fresh process can import `target`; BenchError where it cannot."""
    name = getattr(target, "__qualname__", getattr(target, "__name__", None))
    module = getattr(target, "__module__", None)
    where = "" if role == "benchmark" else f" (the {role} of {label})"
    if not callable(target):
        raise BenchError(f"{label}{where} is not callable; decorate a function or a module class")
    if name is None or module is None:
        raise BenchError(
            f"{label}{where} has no name to import it by; wrap it in a function of its own: def …"
        )
    if "<lambda>" in name:
        raise BenchError(f"a lambda has no name to import it by{where}; write it as a def")
    if "<locals>" in name:
        raise BenchError(
            f"{label}{where} is defined inside another function, which a fresh process cannot "
            "import; move it to the top level of the file and make what it closes over an axis"
        )
    if "." in name:
        raise BenchError(
            f"{name}{where} is a method; move it to the top level of the file as a function"
        )
    if module == "__main__" and not os.path.isfile(main_file()):
        raise BenchError(
            f"{label}{where} is defined in a notebook or at a prompt, where no other process can "
            "import it; write it to a file (%%writefile bench_x.py) and run that"
        )
    return module, name


def main_file():
    return getattr(sys.modules.get("__main__"), "__file__", None) or ""


def kind_of(target, label):
    if inspect.isclass(target):
        bases = inspect.getmro(target)
        if any(b.__name__ == "Module" and b.__module__.startswith("torch.nn") for b in bases):
            return "module"
        raise BenchError(f"{label} is a class but not a torch.nn.Module; decorate a function")
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        raise BenchError(f"{label} is asynchronous; decorate a function that runs it to completion")
    return "generator" if inspect.isgeneratorfunction(target) else "function"


def check_axes(axes, more, label):
    axes = {} if axes is None else axes
    if not isinstance(axes, dict):
        raise BenchError(f'{label}: axes must be a dict such as {{"n": [64, 1024]}}, not {axes!r}')
    for axis in more:
        if axis in axes:
            raise BenchError(f"{label}: the axis {axis} is given twice")
    checked = {}
    for axis, values in {**more, **axes}.items():
        near = difflib.get_close_matches(axis, OPTIONS, n=1) if axis in more else []
        if near and (isinstance(values, (str, bytes)) or not hasattr(values, "__iter__")):
            raise BenchError(f"{label}: unknown option {axis}; did you mean {near[0]}=?")
        if not (isinstance(axis, str) and axis.isidentifier()) or axis in ("seed", "stage"):
            hint = "; did you mean stages=?" if axis == "stage" else ""
            raise BenchError(f"{label}: {axis!r} cannot be the name of an axis{hint}")
        if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
            raise BenchError(f"{label}: axis {axis} needs a list of values, not {values!r}")
        checked[axis] = tuple(values)
        if not checked[axis]:
            raise BenchError(f"{label}: axis {axis} has no values")
        for value in checked[axis]:
            if type(value) not in (str, int, float, bool, type(None)) or (
                isinstance(value, float) and not math.isfinite(value)
            ):
                raise BenchError(
                    f"{label}: axis {axis} has the value {value!r}; values must be text, finite "
                    "numbers, true/false or None: use a name, and look the object up inside"
                )
        if len({(type(value), value) for value in checked[axis]}) < len(checked[axis]):
            raise BenchError(f"{label}: axis {axis} has a value twice")
    return checked


def check_parameters(makers, axes, label):
    """Which axes each callable takes by name; every axis must be taken by one of them."""
    takes = {}
    for role, maker in makers.items():
        try:
            parameters = inspect.signature(maker).parameters.values()
        except (TypeError, ValueError):  # builtins and compiled kernels have no signature
            takes[role] = [axis for axis in axes if axis not in RESERVED]
            continue
        name = getattr(maker, "__name__", label)
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            takes[role] = [axis for axis in axes if axis not in RESERVED]
        else:
            named = [
                p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            ]
            # `device` is passed to any callable that names it: so --device reaches a benchmark.
            takes[role] = [n for n in named if n in axes or n == "device"]
        for p in parameters:
            wanted = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if wanted and p.name not in takes[role]:
                raise BenchError(
                    f"{label}: the parameter {p.name} of {name} has no value; give it values, "
                    f"@ob.bench({p.name}=[...]), or a default"
                )
    for axis in axes:
        if axis not in RESERVED and not any(axis in names for names in takes.values()):
            names = " or ".join(getattr(maker, "__name__", label) for maker in makers.values())
            raise BenchError(f"{label}: the axis {axis} is not a parameter of {names}")
    return takes


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


def result_kind(inputs):
    """What an inputs function returns: `tuple`, `dict`, or `any` if its source does not show it."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inputs)))
    except (OSError, TypeError, SyntaxError):
        return "any"
    kinds = set()
    todo: list = list(tree.body[0].body) if isinstance(tree.body[0], ast.FunctionDef) else []
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Return):
            kinds.add(kind_of_expression(node.value))
        todo.extend(ast.iter_child_nodes(node))
    return kinds.pop() if len(kinds) == 1 else "any"


def kind_of_expression(value):
    if isinstance(value, (ast.Tuple, ast.List)):
        return "tuple"
    called = (
        value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    )
    return "dict" if isinstance(value, ast.Dict) or called == "dict" else "any"


def place_of_caller():
    """(module, line) that applied the decorator, not necessarily that of the function."""
    frame = sys._getframe()
    here = os.path.dirname(__file__)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame = frame.f_back
    return frame.f_globals.get("__name__", ""), frame.f_lineno
