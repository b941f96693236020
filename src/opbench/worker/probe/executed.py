"""The functions and operators of torch that some cases execute: `main.py probe.executed FILE`.

The file has a list of cases as JSON, of which each statement runs once. A function is seen where
Python calls it, an operator where torch dispatches it: `F.pad` and `constant_pad_nd`.
"""

import importlib
import json


def main(path):
    with open(path, encoding="utf-8") as stream:
        cases = json.load(stream)
    print(json.dumps(sorted(executed(cases))))


def executed(cases):
    functions: type = importlib.import_module("torch.overrides").TorchFunctionMode
    operators: type = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    seen = set()

    class Functions(functions):  # type: ignore[valid-type, misc]
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            seen.add(getattr(function, "__name__", ""))
            return function(*arguments, **(keywords or {}))

    class Operators(operators):  # type: ignore[valid-type, misc]
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            seen.add(function._schema.name.partition("::")[2])
            return function(*arguments, **(keywords or {}))

    for case in cases:
        names = {"seed": 0}
        try:
            for section in ("globals", "setup", "before"):
                exec(case[section], names)
            with Functions(), Operators():
                exec(case["stmt"], names)
        except Exception:
            continue  # it cannot run here: nothing is executed
    return seen
