"""Which operators of torch the catalogue executes, by what torch dispatches when entries run."""

from __future__ import annotations

import pytest
from tests.late import late

from opbench.envs.inventory import executed
from opbench.suites.ops.called import covered, runnable

torch = late("torch")


@pytest.fixture(scope="module")
def ran():
    """Every entry of torch run once, in a process of its own."""
    return executed("torch", runnable("torch"))


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


def stripped(names) -> set[str]:
    """Inner operators have a `_` before their name, those that overwrite one after it."""
    return {name.strip("_") for name in names}


#: What it returns is no tensor, so that nothing sees it called; its entry calls nothing else.
NUMBERS = {f"sym_{what}" for what in ("size", "stride", "numel", "storage_offset", "is_contiguous")}


def test_core_aten_is_called_or_dispatched_by_entries_of_the_catalogue(ran, monkeypatch):
    monkeypatch.setattr("opbench.suites.ops.called.executed", lambda *_: ran)
    assert stripped(core_names()) - stripped(covered("torch")) == set()


def test_all_but_a_few_of_core_aten_are_alone_in_an_entry(ran):
    core = stripped(core_names())
    assert len(core & (stripped(ran.alone) | NUMBERS)) >= 160


def test_every_entry_of_torch_runs(ran):
    assert ran.failed == {}


def test_the_list_of_what_is_not_covered_names_nothing_that_entries_execute(ran):
    """`F.pad` is `constant_pad_nd`, `F.interpolate` is `upsample_nearest2d`."""
    assert {"constant_pad_nd", "upsample_nearest2d", "_to_copy", "native_layer_norm"} <= ran.names
    assert "ctc_loss_no_such_operator" not in ran.names
