"""The classic measuring job, as a user's file defines it: a few names at its top level.

    model               the mini-model: an `nn.Module` class, or a function that makes one
    model_init_params   names of what it is made with, their values taken from `input_scales`
    input_params        one list of dim names per input: `[["batch", "hidden"]]`
    input_scales        the values of every dim: `{"batch": [8, 64], "hidden": [256]}`
    job_configs         dtype × runtime: `[{"dtype": "fp16", "runtime": "pt"}]`

Read in the process that imports the file, and passed on as plain data. Standard library only,
Python 3.9.
"""

from __future__ import annotations

import difflib
import inspect
import json
import types

from .addresses import BenchError, address

#: A file that has all of these at its top level is such a job.
NEEDED = ("model", "input_params", "input_scales")
OPTIONAL = (
    "model_init_params",
    "job_configs",
    "name",
    "stages",
    "input_values",
    "training",
    "output",
)


def found_in(names):
    """The job that the names of a module define, as plain data; None when they define none."""
    if not all(name in names for name in NEEDED):
        return None
    found = {
        name: names[name]
        for name in (*NEEDED, *OPTIONAL)
        # A module imported under one of these names says nothing about a sweep.
        if name in names and not isinstance(names[name], types.ModuleType)
    }
    model = found.pop("model")
    try:
        plain = json.loads(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BenchError(f"a sweep is made of names, lists and numbers: {error}") from None
    plain["model"] = model if isinstance(model, str) else described(model)
    return plain


def named_in(module, name):
    """The description of `name` in a module; BenchError, with the nearest name, if missing."""
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, vars(module), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BenchError(f"{module.__name__} has no model called {name}{hint}")
    found = described(getattr(module, name))
    if found["kind"]:
        # Under the requested name: a decorated class may have another.
        found["module"], found["name"] = module.__name__, name
    return found


def described(model):
    """Where a model is imported from, which arguments it takes, and its kind: "class", "function",
    or empty for what is neither, which the reader refuses."""
    label = getattr(model, "__name__", type(model).__name__)
    if not callable(model) or not hasattr(model, "__qualname__"):
        return {"module": "", "name": label, "takes": None, "kind": ""}
    module, name = address(model, label, "model")
    kind = "class" if inspect.isclass(model) else "function"
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):  # written in C
        return {"module": module, "name": name, "takes": None, "kind": kind}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        "module": module,
        "name": name,
        "takes": [p.name for p in parameters if p.kind in named],
        "open": any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters),
        "kind": kind,
    }
