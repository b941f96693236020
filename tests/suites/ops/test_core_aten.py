"""Which operators of torch the catalogue executes, by what torch dispatches when entries run."""

from __future__ import annotations

import pytest

from opbench.suites.ops.called import covered

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def executed() -> set[str]:
    """By running every entry of torch, in a worker of its own."""
    return covered("torch")


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


def test_core_aten_is_called_or_dispatched_by_entries_of_the_catalogue(executed):
    core = {name.strip("_") for name in core_names()}
    assert len(core) >= 160
    assert core - {name.strip("_") for name in executed} == set()


def test_the_list_of_what_is_not_covered_names_nothing_that_entries_execute(executed):
    """`F.pad` is `constant_pad_nd`, `F.interpolate` is `upsample_nearest2d`."""
    assert {"constant_pad_nd", "upsample_nearest2d", "to_copy", "native_layer_norm"} <= executed
    assert "ctc_loss_no_such_operator" not in executed
