"""Sees the Python calls of a program: every module, torch function and tensor method, and any
function that was named.

Functions and methods come through `TorchFunctionMode`, so there is no list of them to keep; what
such a function calls in turn is its own business. Modules are seen where they are called and where
they are made. A backward pass is not Python: the level `operators` has it.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from opbench.capture.api_values import INIT, constructor, described, type_name, with_ranges
from opbench.errors import UserError

#: Properties that compute a tensor; the others only look something up.
COMPUTED = ("T", "mT", "H", "mH", "real", "imag")
#: Bound now: `json.dumps` may be one of the functions that somebody wants recorded.
key_of = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
#: Places listed for each call; the rest is counted.
MOST_PLACES = 8


class Calls:
    """Unique calls, each with its count and the modules it was seen in."""

    def __init__(self, values: bool = True) -> None:
        self.values = values
        self.found: dict[str, dict[str, Any]] = {}
        self.looking = False
        #: Names of the modules that are running, outermost first.
        self.inside: list[str] = []
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}
        self._top: dict[int, str] = {}
        self._known: dict[Any, str] = {}

    def begin(self, head: Mapping[str, Any], args: tuple, kwargs: Mapping[str, Any]) -> str:
        """Describe a call before it happens: it may change its arguments. Gives the key."""
        self.looking = True  # what describing calls is no call of the program
        try:
            return self._begun(head, args, kwargs)
        finally:
            self.looking = False

    def _begun(self, head: Mapping[str, Any], args: tuple, kwargs: Mapping[str, Any]) -> str:
        call = {
            **head,
            "args": [described(value) for value in args],
            "kwargs": {name: described(value) for name, value in kwargs.items()},
        }
        key = key_of(call)
        if key not in self.found:
            if self.values:
                call["args"] = [with_ranges(d, v) for d, v in zip(call["args"], args)]
                call["kwargs"] = {n: with_ranges(call["kwargs"][n], kwargs[n]) for n in kwargs}
            self.found[key] = {**call, "out": None, "count": 0, "inside": []}
        return key

    def end(self, key: str, result: Any, place: str) -> None:
        call = self.found[key]
        call["count"] += 1
        if call["count"] == 1:
            self.looking = True
            call["out"] = described(result)
            self.looking = False
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
        made, how = constructor(module)
        head = {"module": type_name(module), "init": made, "init_from": how}
        return self.begin({**head, "training": bool(module.training)}, args, kwargs)

    def torch_call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        head = None if self.looking else self.head_of(function)
        if head is None:
            return function(*args, **kwargs)
        key = self.begin(head, args, kwargs)
        result = function(*args, **kwargs)
        self.end(key, result, self.place)
        if '"tensor"' not in key and '"tensor"' not in key_of(self.found[key]["out"]):
            del self.found[key]  # a switch, such as the one that `torch.no_grad` turns
        return result

    def named_call(self, name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
        if self.looking:
            return function(*args, **kwargs)
        key = self.begin({"named": name}, args, kwargs)
        result = function(*args, **kwargs)
        self.end(key, result, self.place)
        return result

    def head_of(self, function: Any) -> dict[str, str] | None:
        """`{"function": …}` or `{"method": …}`; None for what only looks something up."""
        if getattr(function, "__name__", "") in ("__get__", "__set__", "__delete__"):
            attribute = getattr(getattr(function, "__self__", None), "__name__", "")
            if function.__name__ != "__get__" or attribute not in COMPUTED:
                return None
            return {"method": f"torch.Tensor.{attribute}"}
        name = self._known.get(function)
        if name is None:
            name = self._known[function] = name_of(function)
        return {"method" if name.startswith("torch.Tensor.") else "function": name}


def name_of(function: Any) -> str:
    """As torch's own table of overridable functions spells it: `torch.nn.functional.relu`."""
    import torch

    found = torch.overrides.resolve_name(function)
    if found:
        return str(found)
    home = getattr(function, "__module__", None) or "torch"
    return f"{home}.{getattr(function, '__qualname__', type(function).__name__)}"


class Watching:
    """Everything that has to be in place while calls are recorded, and out of it afterwards."""

    def __init__(self, calls: Calls, functions: Iterable[Any] = (), patient: bool = False) -> None:
        self.calls = calls
        self.functions = list(functions)
        #: Functions that were named before the program got round to defining them.
        self.pending: list[Any] = list(self.functions) if patient else []
        self._mode: Any = None
        self._undo: list[Callable[[], None]] = []

    def start(self) -> None:
        import torch
        from torch.overrides import TorchFunctionMode

        calls, watching = self.calls, self

        class ApiMode(TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if torch.compiler.is_compiling():
                    return func(*args, **(kwargs or {}))
                watching.look_again()
                return calls.torch_call(func, args, kwargs or {})

        for function in () if self.pending else self.functions:
            self.watch_function(function)
        self._watch_modules()
        self._mode = ApiMode()
        self._mode.__enter__()

    def look_again(self) -> None:
        """Whether a function that was named in advance exists by now; imports nothing."""
        for given in list(self.pending):
            module, _, name = str(given).partition(":")
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if callable(found):
                self.pending.remove(given)
                self.watch_function(found, str(given))

    def stop(self) -> None:
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None
        while self._undo:
            self._undo.pop()()

    def _watch_modules(self) -> None:
        import torch

        Module, calls = torch.nn.Module, self.calls
        original = Module.__call__

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(module, *args, **kwargs)
            return calls.module_call(original, module, args, kwargs)

        Module.__call__ = __call__  # type: ignore[method-assign]
        note_constructors(True)

        def undo() -> None:
            Module.__call__ = original  # type: ignore[method-assign]
            note_constructors(False)

        self._undo.append(undo)

    def watch_function(self, given: Any, name: str = "") -> None:
        """Put a wrapper wherever the function is known: `from m import f` made more names of it."""
        function, known_as = found_function(given)
        name = name or known_as
        calls = self.calls

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return calls.named_call(name, function, args, kwargs)

        homes: list[tuple[Any, str]] = []
        owner, attribute = owner_of(function)
        if owner is not None:
            homes.append((owner, attribute))
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            if isinstance(names, dict) and module is not sys.modules[__name__]:
                homes += [(module, n) for n, value in list(names.items()) if value is function]
        for home, attribute in dict.fromkeys(homes):
            self._replace(home, attribute, function, wrapper)

    def _replace(self, home: Any, attribute: str, old: Any, new: Any) -> None:
        setattr(home, attribute, new)
        self._undo.append(lambda: setattr(home, attribute, old))


_noting = False


def note_constructors(on: bool) -> None:
    """Keep each new module's constructor arguments in it, from now on or no more.

    `Module.__new__` gets them exactly. It stays once it is there: CPython does not forget that a
    class had a `__new__`, and refuses arguments to one that lost it.
    """
    global _noting
    import torch

    _noting = on
    if not on or "__new__" in torch.nn.Module.__dict__:
        return

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        above = super(torch.nn.Module, cls).__new__
        made = above(cls) if above is object.__new__ else above(cls, *args, **kwargs)
        # A copy is made without arguments, and is given those of what it copies.
        if _noting and (args or kwargs) and not torch.compiler.is_compiling():
            made.__dict__[INIT] = {
                "args": [described(value, False, 1) for value in args],
                "kwargs": {name: described(value, False, 1) for name, value in kwargs.items()},
            }
        return made

    torch.nn.Module.__new__ = __new__  # type: ignore[method-assign,assignment]


def found_function(given: Any) -> tuple[Any, str]:
    """A function, or `package.module:name`, as (function, name)."""
    if callable(given):
        home = getattr(given, "__module__", None) or ""
        return given, f"{home}:{getattr(given, '__qualname__', type(given).__name__)}"
    module, colon, name = str(given).partition(":")
    if not colon or not name:
        raise UserError(f"a function to record is written package.module:name, not '{given}'")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot record {given}: {error}") from None
    if not callable(found):
        raise UserError(f"cannot record {given}: it is no function")
    return found, str(given)


def owner_of(function: Any) -> tuple[Any, str]:
    """The module or class that a function belongs to, when it is found there."""
    owner: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    *path, name = (getattr(function, "__qualname__", "") or "?").split(".")
    for part in path:
        owner = getattr(owner, part, None)
    known = getattr(owner, name, None) is function
    return (owner, name) if known else (None, "")
