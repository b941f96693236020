"""Which of the modules that a program calls is its model: the one with the most parameters.

A program calls others next to it: a loss, an observer, a second model. Counted together they would
be calls of nothing in particular.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Any

import torch
from torch.nn.parameter import is_lazy


class Models:
    """The modules that were called from outside of any other. None is compiled code that no module
    was called for. `changed` is called where the calls so far were not those of the model."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        #: Class of the model, and its calls.
        self.name, self.calls = "", 0
        #: Class → calls of what is not the model.
        self.others: Counter[str] = Counter()
        self._size = 0.0
        self._model: Callable[[], Any] = lambda: None
        self._sizes: weakref.WeakKeyDictionary[torch.nn.Module, int] = weakref.WeakKeyDictionary()

    def call(self, module: torch.nn.Module | None, settled: bool) -> bool:
        """Note a call; whether it is of the model. `settled`: no other becomes the model."""
        size = self._size_of(module)
        if not settled and (self._model() is None or size > self._size):
            self._size, self._model = size, weakref.ref(self if module is None else module)
            if self.calls:
                self.others[self.name] += self.calls
                self.calls = 0
                self._changed()
            self.name = name_of(module)
        if self._model() is not (self if module is None else module):
            self.others[name_of(module)] += 1
            return False
        self.calls += 1
        return True

    def _size_of(self, module: torch.nn.Module | None) -> float:
        if module is None:
            return inf
        if module not in self._sizes:
            found = (each.numel() for each in module.parameters() if not is_lazy(each))
            self._sizes[module] = sum(found)
        return self._sizes[module]


def name_of(module: torch.nn.Module | None) -> str:
    return "the compiled model" if module is None else type(module).__name__
