"""The Python calls seen so far: each unique one with its count and the modules it was seen in.

A call is kept as the line that will be written, under the text of its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from opbench.capture.api.function_names import registered_name
from opbench.capture.codec import API
from opbench.capture.describing import constructor, describe, describe_arguments, type_name

#: Properties that compute a tensor; the others only look something up.
COMPUTED = ("T", "mT", "H", "mH", "real", "imag")
#: Bound now: `json.dumps` may be one of the functions that somebody wants recorded.
key_of = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
#: Modules listed for each call; the rest is counted.
MOST_PLACES = 8


class ApiLog:
    def __init__(self, values: bool = True) -> None:
        #: Whether the ranges of integers are kept.
        self.values = values
        self.calls: dict[str, dict[str, Any]] = {}
        #: Set while a call is described: what that calls in turn is not the program's.
        self.describing = False
        #: Names of the modules that are running, outermost first.
        self.inside: list[str] = []
        #: Outermost module → names of the modules in it.
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}
        self._top: dict[int, str] = {}

    def begin(self, head: Mapping[str, Any], args: tuple, kwargs: Mapping[str, Any]) -> str:
        """Describe a call before it happens: it may change its arguments. Gives its key."""
        self.describing = True
        try:
            line = {**head, **API.encode_arguments(describe_arguments(args, kwargs))}
            key = key_of(line)
            if key not in self.calls:
                if self.values:
                    # Once per signature: asking each time would make a device wait.
                    line.update(API.encode_arguments(describe_arguments(args, kwargs, True)))
                self.calls[key] = {**line, "out": None, "count": 0, "inside": []}
            return key
        finally:
            self.describing = False

    def end(self, key: str, result: Any, place: str) -> None:
        call = self.calls[key]
        call["count"] += 1
        if call["count"] == 1:
            self.describing = True
            call["out"] = API.encode(describe(result))
            self.describing = False
        if place not in call["inside"] and len(call["inside"]) < MOST_PLACES:
            call["inside"].append(place)

    def path_of(self, module: Any) -> str:
        """The name of a module within the outermost one that is running."""
        if not self.inside:
            if id(module) not in self._names or self._names[id(module)][0] is not module:
                names = {id(child): name for name, child in module.named_modules()}
                self._names[id(module)] = (module, names)
            self._top = self._names[id(module)][1]
            return type(module).__name__
        return self._top.get(id(module)) or type(module).__name__

    @property
    def place(self) -> str:
        return self.inside[-1] if self.inside else ""

    # -- the three kinds of calls ------------------------------------------------------------

    def module_call(self, call: Callable, module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        key = self.module_key(module, args, kwargs)
        path = self.path_of(module)
        self.inside.append(path)
        try:
            result = call(module, *args, **kwargs)
        finally:
            self.inside.pop()
        self.end(key, result, path)
        return result

    def module_key(self, module: Any, args: tuple, kwargs: Mapping[str, Any]) -> str:
        init, how = constructor(module)
        head = {"module": type_name(module), "init": init, "init_from": how}
        return self.begin({**head, "training": bool(module.training)}, args, kwargs)

    def torch_call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        head = None if self.describing else head_of(function)
        if head is None:
            return function(*args, **kwargs)
        key = self.begin(head, args, kwargs)
        result = function(*args, **kwargs)
        self.end(key, result, self.place)
        if '"tensor"' not in key and '"tensor"' not in key_of(self.calls[key]["out"]):
            del self.calls[key]  # a switch, such as the one that `torch.no_grad` turns
        return result

    def named_call(self, name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
        if self.describing:
            return function(*args, **kwargs)
        key = self.begin({"named": name}, args, kwargs)
        result = function(*args, **kwargs)
        self.end(key, result, self.place)
        return result


def head_of(function: Any) -> dict[str, str] | None:
    """`{"function": …}` or `{"method": …}`; None for what only looks something up."""
    if getattr(function, "__name__", "") in ("__get__", "__set__", "__delete__"):
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if function.__name__ != "__get__" or attribute not in COMPUTED:
            return None
        return {"method": f"torch.Tensor.{attribute}"}
    name = registered_name(function)
    if not name:
        owner = getattr(function, "__module__", None) or "torch"
        name = f"{owner}.{getattr(function, '__qualname__', type(function).__name__)}"
    return {"method" if name.startswith("torch.Tensor.") else "function": name}
