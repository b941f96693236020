"""Calls that tests name to be measured: written down as source, so that another process can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from opbench.define.bench import BenchError
from opbench.define.call import describe


class Recorder:
    """The fixture `opbench` of one test."""

    def __init__(self, node: Any, named: list[dict[str, Any]]) -> None:
        self._node, self._named = node, named
        self._calls = 0

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the function, return its result, and have this call measured after the tests."""
        __tracebackhide__ = True  # where the test is wrong is in the test
        if not self._node.config.getoption("--opbench-disable"):
            try:
                self._name_call(function, args, kwargs)
            except BenchError as error:
                raise pytest.fail.Exception(f"opbench: {error}") from None
        return function(*args, **kwargs)

    def _name_call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Written down before the call, which may change its arguments."""
        if not callable(function):
            raise BenchError(
                f"an object of type {type(function).__name__} cannot be called; pass the function, "
                "then its arguments: opbench(function, x)"
            )
        self._calls += 1
        test = getattr(self._node, "originalname", None) or self._node.name
        name = test if self._calls == 1 else f"{test}.{self._calls}"
        params = dict(getattr(getattr(self._node, "callspec", None), "params", {}))
        call = describe(name, params, function, args, kwargs)
        named = {"call": call, "suite": self._node.path.stem, "node": self._node.nodeid}
        self._named.append(named)
