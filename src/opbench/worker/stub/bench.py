"""`@ob.bench`: registers a function, a generator function or an `nn.Module` as a benchmark.

The one implementation, used by the real package and by its stub in foreign environments, so it
needs the standard library only and Python 3.9. It registers and returns what it decorates,
unchanged, and reports mistakes where they are written.
"""

from __future__ import annotations

import inspect

from .addresses import (
    BenchError,
    address,
    found,
    in_a_file,
    kept,
    known_as,
    only_when_run,
    other_there,
    place_of_caller,
)
from .checks import (
    check_axes,
    check_name,
    check_output,
    check_parameters,
    check_stages,
    check_yields,
    positional,
    result_of,
)
from .written import Unsendable, Written

_registered: list = []


def registered():
    """The benchmarks registered so far in this process, as plain dictionaries."""
    return _registered


def bench(
    target=None,
    *,
    name=None,
    group=None,
    axes=None,
    stages=None,
    inputs=None,
    output="y",
    **more,
):
    """Register a benchmark. Use as `@ob.bench` or `@ob.bench(n=[64, 1024], …)`.

    n=[…]    any other keyword is an axis: a list of values, or a dict of values by name; each is
             passed by name. Values are numbers, text, true/false, None, tuples, dtypes, devices,
             functions and classes
    axes     more axes, as a dict: for names that clash with an option below
    inputs   a function of the axes that makes the arguments: a tuple, or a dict for keywords;
             not timed
    group    functions of one group are compared with each other, with the first unless
             `--baseline name=…` names another
    stages   of `forward`, `backward`, `forward_backward`, or `call` for a plain call
    output   where a backward stage starts, as an expression over the returned `y`: `"y[0]"`
    name     the name of the benchmark; by default that of the function

    A generator function is called once, untimed, and what it yields is called and timed. Of a
    `torch.nn.Module` class one instance is made with the axes that its constructor names.
    """
    options = {"name": name, "group": group, "axes": axes, "stages": stages}
    options.update(inputs=inputs, output=output, **more)
    if target is None:
        return lambda function: bench(function, **options)
    _registered.append(entry_of(target, **options))
    return target


def entry_of(
    target, *, name=None, group=None, axes=None, stages=None, inputs=None, output="y", **more
):
    """A benchmark as plain data, every mistake in it found."""
    if isinstance(target, (str, dict, list, tuple)):
        raise BenchError("@ob.bench takes its axes by name: @ob.bench(n=[64, 1024])")
    if group is not None and not isinstance(group, str):  # an axis of that name
        group, more = None, {"group": group, **more}
    label = getattr(target, "__name__", type(target).__name__)
    if label == "<lambda>":
        if name is None:
            raise BenchError("a lambda has no name; give it one: ob.bench(lambda: …, name=…)")
        label = name
    place = origin(target, label, "benchmark")
    kind = kind_of(target, label)
    axes, values = check_axes(axes, more, label)
    if kind == "module" and inputs is None:
        raise BenchError(
            f"{label}: a module needs inputs=, a function that makes the arguments of forward"
        )
    if kind == "generator" and inputs is not None:
        raise BenchError(
            f"{label}: a generator makes its own inputs before it yields; drop inputs="
        )
    if kind == "generator":
        check_yields(target, label)
    makers = {"target": target, **({} if inputs is None else {"inputs": inputs})}
    filled = kind == "function" and inputs is not None
    inputs_entry = None
    if inputs is not None:
        if not callable(inputs):
            raise BenchError(
                f"{label}: inputs= must be a function that returns the arguments, "
                f"not an object of type {type(inputs).__name__}"
            )
        inputs_entry = origin(inputs, label, "inputs function")
        inputs_entry.update(result_of(inputs))
    takes = check_parameters(makers, axes, label, filled="target" if filled else "")
    if inputs_entry is not None:
        inputs_entry["takes"] = takes["inputs"]
    if group is not None:
        if "group" in axes:
            raise BenchError(f"{label}: group is given twice, as an option and as an axis")
        axes = {"group": (check_name(group, label),), **axes}
    registered_in, line = place_of_caller()
    return {
        "module": place["module"],
        "function": place["name"],
        "define": place["define"],
        "name": check_name(name, label),
        "group": group,
        "kind": kind,
        "axes": [[axis, list(labels)] for axis, labels in axes.items()],
        "values": values,
        "stages": list(check_stages(stages, kind, inputs is not None, label)),
        "inputs": inputs_entry,
        "takes": takes["target"],
        "positional": positional(target) if filled else [],
        "output": check_output(output, label),
        "registered_in": registered_in,
        "line": line,
        "objects": (target, inputs),  # not plain: for `misplaced`, in this process
    }


def misplaced(entry):
    """Why a fresh process would import something else than was registered; "" if it would not.

    It is known when the file has been read: a function that is being decorated has no name yet."""
    target, inputs = entry["objects"]
    places = [(entry["module"], entry["function"], target)]
    if inputs is not None:
        places.append((entry["inputs"]["module"], entry["inputs"]["name"], inputs))
    for module, name, given in places:
        why = module and (
            only_when_run(module, name) if kept(module, name, given) else other_there(module, name)
        )
        if why:
            where = "" if given is target else " (its inputs)"
            return f"{entry['name']}{where}: {why}"
    return ""


def origin(target, label, role):
    """How a fresh process gets a function: `name` in `module`, or as `define` defines it."""
    place = found(target) if callable(target) else None
    name, module = getattr(target, "__qualname__", ""), getattr(target, "__module__", None)
    importable = isinstance(module, str) and (module != "__main__" or in_a_file())
    if place is None and importable and name.isidentifier():
        place = (known_as(module), name)  # being defined: not yet there under its name
    if place is not None and "." not in place[1]:
        return {"module": place[0], "name": place[1], "define": ""}
    method = "." in name and "<locals>" not in name
    if method or not (inspect.isfunction(target) or inspect.isclass(target)):
        address(target, label, role)  # which says what is wrong with it
    written = Written()
    try:
        known = written.function(target)
    except Unsendable as error:
        where = "" if role == "benchmark" else f" (the {role} of {label})"
        raise BenchError(
            f"{label}{where} cannot be imported by a fresh process, and its source does not "
            f"suffice: {error}; write it at the top level of a file, or make what it uses inside"
        ) from None
    return {"module": "", "name": known, "define": written.text}


def kind_of(target, label):
    if inspect.isclass(target):
        bases = inspect.getmro(target)
        if any(b.__name__ == "Module" and b.__module__.startswith("torch.nn") for b in bases):
            return "module"
        raise BenchError(f"{label} is a class but not a torch.nn.Module; decorate a function")
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        raise BenchError(f"{label} is asynchronous; decorate a function that runs it to completion")
    return "generator" if inspect.isgeneratorfunction(target) else "function"
