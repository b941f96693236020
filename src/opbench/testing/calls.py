"""Calls that tests name to be measured: written down as source, so that another process can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opbench.define.call import describe


class Recorder:
    """The fixture `opbench` of one test."""

    def __init__(self, node: Any, named: list[dict[str, Any]]) -> None:
        self._node, self._named = node, named
        self._calls = 0

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the function, return its result, and have this call measured after the tests."""
        if not self._node.config.getoption("--opbench-disable"):
            self._name_call(function, args, kwargs)
        return function(*args, **kwargs)

    def _name_call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Written down before the call, which may change its arguments."""
        self._calls += 1
        test = getattr(self._node, "originalname", None) or self._node.name
        name = test if self._calls == 1 else f"{test}.{self._calls}"
        params = dict(getattr(getattr(self._node, "callspec", None), "params", {}))
        call = describe(name, params, function, args, kwargs)
        named = {"call": call, "suite": self._node.path.stem, "node": self._node.nodeid}
        self._named.append(named)
