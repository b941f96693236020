"""Which operators of torch the catalogue executes, by what torch dispatches when entries run."""

from __future__ import annotations

import pytest

from opbench.suites.ops.catalogue import catalogue

torch = pytest.importorskip("torch")

#: Entries whose first call compiles, or that take seconds.
LEFT_OUT = ("linalg_svd",)


def core_names() -> set[str]:
    """The operators that torch tags as core, without overloads."""
    found = set()
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.removeprefix("aten::").partition(".")
        if full.startswith("aten::") and hasattr(torch.ops.aten, name):
            operator = getattr(getattr(torch.ops.aten, name), overload or "default", None)
            if operator is not None and torch.Tag.core in operator.tags:
                found.add(name)
    return found


def test_core_aten_is_executed_by_entries_of_the_catalogue():
    from tests.suites.ops.inprocess import case_of, prepared
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            executed.add(function._schema.name.partition("::")[2])
            return function(*arguments, **(keywords or {}))

    executed: set[str] = set()
    for name, operator in catalogue().items():
        if "torch" not in operator.spelling or name in LEFT_OUT:
            continue
        axes = {"form": "fused"} if operator.parts else {}
        case = case_of(name, "torch", **axes)
        if case.unsupported:
            continue
        names = prepared(case)
        exec(case.before, names)
        with Recorder():
            exec(case.stmt, names)
    core = core_names()
    assert len(core) >= 160
    assert core - executed == set()
