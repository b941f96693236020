"""Sees the Python calls of a program: every module, torch function and tensor method, and any
function that was named.

Functions and methods come through `TorchFunctionMode`, so there is no list of them to keep; what
such a function calls in turn is its own business. Modules are seen where they are called and where
they are created. A backward pass is not Python: the level `operators` has it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch

from opbench.capture.api.log import ApiLog
from opbench.capture.api.unseen import UnseenMode
from opbench.capture.codec import API
from opbench.capture.describing import INIT, describe_arguments
from opbench.errors import UserError


class ApiHooks(UnseenMode):
    """Everything that has to be in place while calls are recorded, and removed afterwards."""

    def __init__(self, log: ApiLog, functions: Iterable[Any] = (), defer: bool = False) -> None:
        super().__init__()
        self.log = log
        self.functions = list(functions)
        #: Functions that were named before the program got round to defining them.
        self.pending: list[Any] = list(self.functions) if defer else []
        self._active = False
        self._undo: list[Callable[[], None]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))
        self._look_for_pending()
        return self.log.torch_call(func, args, kwargs or {})

    def start(self) -> None:
        try:
            for function in () if self.pending else self.functions:
                self.watch_function(function)
        except UserError:
            self.stop()
            raise
        self._watch_modules()
        self.__enter__()
        self._active = True

    def stop(self) -> None:
        if self._active:
            self.__exit__(None, None, None)
            self._active = False
        while self._undo:
            self._undo.pop()()

    def _look_for_pending(self) -> None:
        """Whether a function that was named in advance exists by now; imports nothing."""
        for given in list(self.pending):
            module, _, name = str(given).partition(":")
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if callable(found):
                self.pending.remove(given)
                self.watch_function(found, str(given))

    def _watch_modules(self) -> None:
        Module, log = torch.nn.Module, self.log
        original = Module.__call__

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(module, *args, **kwargs)
            return log.module_call(original, module, args, kwargs)

        self._replace(Module, "__call__", original, __call__)
        note_constructors(True)
        self._undo.append(lambda: note_constructors(False))

    def watch_function(self, given: Any, name: str = "") -> None:
        """Put a wrapper wherever the function is known: `from m import f` made more names of it."""
        function, known_as = found_function(given)
        name = name or known_as
        log = self.log

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return log.named_call(name, function, args, kwargs)

        owners: list[tuple[Any, str]] = []
        owner, attribute = owner_of(function)
        if owner is not None:
            owners.append((owner, attribute))
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            if isinstance(names, dict) and module is not sys.modules[__name__]:
                owners += [(module, n) for n, value in list(names.items()) if value is function]
        for owner, attribute in dict.fromkeys(owners):
            self._replace(owner, attribute, function, wrapper)

    def _replace(self, owner: Any, attribute: str, old: Any, new: Any) -> None:
        setattr(owner, attribute, new)
        self._undo.append(lambda: setattr(owner, attribute, old))


_noting = False


def note_constructors(on: bool) -> None:
    """Keep each new module's constructor arguments in it, from now on or no more.

    `Module.__new__` gets them exactly. It stays once it is there: CPython does not forget that a
    class had a `__new__`, and refuses arguments to one that lost it.
    """
    global _noting
    _noting = on
    if not on or "__new__" in torch.nn.Module.__dict__:
        return

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        above = super(torch.nn.Module, cls).__new__
        module = above(cls) if above is object.__new__ else above(cls, *args, **kwargs)
        # A copy is created without arguments, and is given those of what it copies.
        if _noting and (args or kwargs) and not torch.compiler.is_compiling():
            given = describe_arguments(args, kwargs, depth=1)
            module.__dict__[INIT] = API.encode_arguments(given)
        return module

    torch.nn.Module.__new__ = __new__  # type: ignore[method-assign,assignment]


def found_function(given: Any) -> tuple[Any, str]:
    """A function, or `package.module:name`, as (function, name)."""
    if callable(given):
        module = getattr(given, "__module__", None) or ""
        return given, f"{module}:{getattr(given, '__qualname__', type(given).__name__)}"
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
        raise UserError(f"cannot record {given}: it is not a function")
    return found, str(given)


def owner_of(function: Any) -> tuple[Any, str]:
    """The module or class that a function belongs to, when it is found there."""
    owner: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    *path, name = (getattr(function, "__qualname__", "") or "?").split(".")
    for part in path:
        owner = getattr(owner, part, None)
    known = getattr(owner, name, None) is function
    return (owner, name) if known else (None, "")
