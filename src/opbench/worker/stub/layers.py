"""`ob.layer_pair` and `@ob.grad_sample_mode`: a user's own layers and modes for the layer suite.

They register and return what they are given, unchanged, as `@ob.bench` does; the suite `layers`
makes definitions of what is registered. Standard library only, Python 3.9.
"""

from __future__ import annotations

import inspect
import math

from .addresses import BenchError, address, place_of_caller
from .checks import check_name, check_output

_pairs: list = []
_modes: list = []

PLAIN = (str, int, float, bool, type(None))
OPTIONS = ("counterpart", "input_shape", "name", "integers", "features", "output")


def layer_pair(
    own=None,
    counterpart=None,
    *,
    input_shape=None,
    name=None,
    integers=None,
    features="last",
    output="y",
    **arguments,
):
    """Register a layer next to the torch.nn layer it replaces. As a call, or as a decorator:

        ob.layer_pair(LoRALinear, nn.Linear, input_shape=("in_features",),
                      in_features=512, out_features=512, rank=[4, 16])

    own, counterpart  module classes, or functions that make a module, by name importable
    input_shape       sizes of one sample, as numbers or as names of arguments
    integers          make the input of whole numbers below this, as an embedding takes them
    features          where the features of the output are: "last", or "second" as in convolutions
    output            what of the returned `y` is the output: `"y[0]"`; where the two sides differ,
                      that of each: `("y[0]", "y")`
    name              the name of the layer; by default that of `own` in lower case
    further keywords  arguments of the constructors, each passed to those that take it; a list is
                      an axis
    """
    if own is None or counterpart is None:
        if counterpart is None and own is not None:
            misspelt = _nearest("counterpart", arguments)
            hint = f"{misspelt}= is not an option; " if misspelt else ""
            raise BenchError(
                f"{hint}ob.layer_pair needs the layer and its counterpart: "
                "ob.layer_pair(LoRALinear, nn.Linear, input_shape=(512,))"
            )
        return lambda found: layer_pair(
            found,
            counterpart,
            input_shape=input_shape,
            name=name,
            integers=integers,
            features=features,
            output=output,
            **arguments,
        )
    label = getattr(own, "__name__", type(own).__name__)
    registered_in, line = place_of_caller()
    axes, constants = _arguments(arguments, label)
    known = {**constants, **{axis: values[0] for axis, values in axes}}
    sides = {"own": _side(own, label, known), "counterpart": _side(counterpart, label, known)}
    for argument in known:
        if not any(argument in side["takes"] for side in sides.values()):
            others = [*OPTIONS, *_parameters(own), *_parameters(counterpart)]
            near = _nearest(argument, [each for each in others if each not in known])
            hint = f"; did you mean {near}=?" if near else ""
            raise BenchError(f"{label}: neither constructor takes the argument {argument}{hint}")
    if features not in ("last", "second"):
        raise BenchError(f'{label}: features is "last" or "second", not {features!r}')
    if integers is not None and not (integers in known or _is_size(integers)):
        raise BenchError(f"{label}: integers= is a whole number or an argument, not {integers!r}")
    outputs = list(output) if isinstance(output, (tuple, list)) else [output, output]
    if len(outputs) != 2:
        raise BenchError(f"{label}: output is one expression, or one for each side, not {output!r}")
    for each in outputs:
        if not check_output(each, label).startswith("y"):
            raise BenchError(f"{label}: output {each!r} is not an expression over y, such as y[0]")
    _pairs.append(
        {
            "name": check_name(name, label.lower()),
            **sides,
            "input_shape": _shape(input_shape, known, label),
            "integers": integers,
            "features": features,
            "outputs": outputs,
            "constants": constants,
            "axes": axes,
            "registered_in": registered_in,
            "line": line,
        }
    )
    return own


def grad_sample_mode(wrap=None, *, name=None, per_sample=True):
    """Register a function `module → module` as a mode next to `hooks`, `functorch`, `ew`, `ghost`.

    After a backward pass through what it returns, each parameter must have its gradients by sample
    in `grad_sample`, the batch first; with `per_sample=False` they are not looked for. A parameter
    `batch_first` of the function receives whether the batch comes first in the input.
    """
    if wrap is None:
        return lambda found: grad_sample_mode(found, name=name, per_sample=per_sample)
    label = getattr(wrap, "__name__", type(wrap).__name__)
    module, function = address(wrap, label, "mode")
    parameters = inspect.signature(wrap).parameters
    needed = [p for p in parameters.values() if p.default is p.empty and p.name != "batch_first"]
    needed = [p for p in needed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(needed) != 1:
        raise BenchError(f"{label}: a mode is a function of one module that returns a module")
    registered_in, line = place_of_caller()
    _modes.append(
        {
            "name": check_name(name, label),
            "module": module,
            "function": function,
            "batch_first": "batch_first" in parameters,
            "per_sample": bool(per_sample),
            "registered_in": registered_in,
            "line": line,
        }
    )
    return wrap


def found_in(module_name):
    """What the file itself registers, not what files it imports do."""
    return {
        "pairs": [entry for entry in _pairs if entry["registered_in"] == module_name],
        "modes": [entry for entry in _modes if entry["registered_in"] == module_name],
    }


def clear():
    _pairs.clear()
    _modes.clear()


def _side(target, label, known):
    """Where a layer is imported from, and which of the arguments it takes."""
    module, name = address(target, label, "layer")
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):  # written in C
        return {"module": module, "name": name, "takes": list(known)}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return {"module": module, "name": name, "takes": list(known)}
    takes = [p.name for p in parameters if p.name in known]
    for p in parameters:
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and p.name not in takes:
            misspelt = _nearest(p.name, [each for each in known if each not in _parameters(target)])
            instead = f" instead of {misspelt}" if misspelt else ""
            raise BenchError(
                f"{label}: the argument {p.name} of {name} has no value; add {p.name}=…{instead}"
            )
    return {"module": module, "name": name, "takes": takes}


def _parameters(target):
    """Names of the arguments, as far as they are known."""
    try:
        return list(inspect.signature(target).parameters)
    except (TypeError, ValueError):  # written in C
        return []


def _nearest(name, known):
    import difflib  # only for mistakes: every child imports this file

    return next(iter(difflib.get_close_matches(name, known, n=1)), "")


def _arguments(arguments, label):
    """(axes, constants): a list is an axis, anything else one value."""
    axes, constants = [], {}
    for argument, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        for each in values:
            parts = each if isinstance(each, tuple) and not isinstance(value, list) else (each,)
            if not all(isinstance(part, PLAIN) for part in parts) or any(
                isinstance(part, float) and not math.isfinite(part) for part in parts
            ):
                raise BenchError(
                    f"{label}: the argument {argument} has the value {each!r}; values must be "
                    "text, finite numbers, true/false or None; make the layer in a function for "
                    "anything else"
                )
        if not isinstance(value, list):
            constants[argument] = value
        elif not values or argument in ("mode", "batch_size", "layer", "config", "stage"):
            raise BenchError(f"{label}: {argument}={value!r} cannot be an axis")
        else:
            axes.append([argument, values])
    return axes, constants


def _shape(shape, known, label):
    given = (shape,) if isinstance(shape, (int, str)) else shape
    for part in given if isinstance(given, (list, tuple)) else ():
        if isinstance(part, str) and part not in known:
            raise BenchError(
                f"{label}: input_shape names {part!r}, which is no argument; add {part}=…"
            )
    if not isinstance(given, (list, tuple)) or not all(
        _is_size(part) or part in known for part in given
    ):
        raise BenchError(
            f"{label}: input_shape must be the sizes of one sample, as numbers or names of "
            f"arguments, such as (16, 64), not {shape!r}"
        )
    return list(given)


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
