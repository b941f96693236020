"""A number of the CPU is never called one of a GPU."""

from __future__ import annotations

import sys
import types

import pytest

from opbench.worker import session
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded


def library(initialized: bool, *held: int) -> types.ModuleType:
    """A torch with one GPU for each number: the most bytes that it has held there."""
    made = types.ModuleType("torch")
    made.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_initialized=lambda: initialized,
        device_count=lambda: len(held),
        max_memory_allocated=lambda index: held[index],
    )
    return made


def at_work(monkeypatch, case, **loaded):
    for name in ("torch", "jax", "mxnet", "onnxruntime", "cupy", "numba"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, module in loaded.items():
        monkeypatch.setitem(sys.modules, name, module)
    found = session.Session()
    found.case = case
    return found


@pytest.mark.parametrize(
    ("case", "loaded"),
    [
        ({"device": "cuda"}, {"torch": library(True, 512)}),
        ({"device": "cuda"}, {"torch": library(True, 0, 512)}),
        ({"device": "cuda:1"}, {"torch": library(False), "jax": types.ModuleType("jax")}),
        ({"device": "cuda", "language": "cpp"}, {}),
        ({"device": "cpu"}, {}),
        ({}, {"torch": library(False)}),
    ],
)
def test_what_may_have_used_it_is_measured(monkeypatch, case, loaded):
    at_work(monkeypatch, case, **loaded)._check_device()


@pytest.mark.parametrize(
    "loaded", [{}, {"torch": library(False)}, {"torch": library(True, 0)}, {"torch": library(True)}]
)
def test_what_cannot_have_used_it_is_refused(monkeypatch, loaded):
    with pytest.raises(session.Unsupported, match="nothing in it was on cuda:0"):
        at_work(monkeypatch, {"device": "cuda:0"}, **loaded)._check_device()


@pytest.mark.parametrize(("setup", "refused"), [("", True), ("opbench_on_host = True", False)])
def test_a_setup_may_say_that_its_call_belongs_on_the_host(python_case, setup, refused):
    # In a real child: the flag is a variable of its setup. No GPU is needed to stay away from one.
    worker = Worker(sys.executable, ())
    try:
        child = worker.open()
        child.prepare(python_case("x = 1", setup=setup, device="cuda"), 0, 60)
        if refused:
            with pytest.raises(SessionEnded, match="nothing in it was on cuda"):
                child.warm_up(0.01, 0.002, 60)
        else:
            assert child.warm_up(0.01, 0.002, 60)["calls"] > 0
            assert child.block("time", 3, 60)["n"] == 3
            child.close()
    finally:
        worker.close()
