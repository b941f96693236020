"""Traces of other tools become captures that run, and captures become traces."""

from __future__ import annotations

import json

import pytest
from tests.capture.test_scripts import check_replay
from tests.late import late

from opbench.capture.exchange.traced import parsed
from opbench.capture.reading import read
from opbench.errors import UserError
from opbench.suites.captured.exchange import convert

torch = late("torch")


def step():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    loss = torch.nn.functional.cross_entropy(model(torch.cat([x, x])), torch.arange(10) % 2)
    loss.backward()
    optimizer.step()


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

    folder = tmp_path_factory.mktemp("traces")
    observer = ExecutionTraceObserver().register_callback(str(folder / "et.json"))
    observer.start()
    step()
    observer.stop()
    observer.unregister_callback()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as found:
        step()
    found.export_chrome_trace(str(folder / "chrome.json"))
    return folder


def test_an_execution_trace_becomes_a_step_that_runs(traces, tmp_path):
    said = convert(traces / "et.json", tmp_path / "s.jsonl")
    assert "0 could not be taken" in said
    assert "indices and masks are 0" in said
    capture = read(tmp_path / "s.jsonl")
    calls = {call.operator: call for call in capture.calls}
    assert calls["aten::cat"].args[0][0].shape == (5, 3)
    # The outermost operator is taken, and what it calls is not counted again.
    assert calls["aten::linear"].counts == {"forward": 1}
    assert "aten::addmm" not in calls
    assert {"forward", "backward", "optimizer"} == set(capture.phases)
    check_replay(tmp_path / "s.jsonl")


def test_a_chrome_trace_gives_what_it_can_and_says_what_it_cannot(traces, tmp_path):
    said = convert(traces / "chrome.json", tmp_path / "s.jsonl")
    assert "not taken: aten::cat, 1 call: a list of tensors" in said
    found = [c for c in read(tmp_path / "s.jsonl").calls if c.operator == "aten::linear"]
    assert [call.tensors[0].shape for call in found] == [(10, 3), (10, 4)]
    assert all(call.time > 0 for call in found)


def test_a_capture_becomes_chakra_and_comes_back(tmp_path):
    import opbench

    with opbench.record(tmp_path / "a.jsonl"):
        step()
    convert(tmp_path / "a.jsonl", tmp_path / "a.json")
    trace = json.loads((tmp_path / "a.json").read_text())
    captured = read(tmp_path / "a.jsonl")
    assert sum(bool(node["attrs"]) for node in trace["nodes"]) == len(captured.order)
    convert(tmp_path / "a.json", tmp_path / "b.jsonl")
    again = read(tmp_path / "b.jsonl")
    before, after = (
        sorted((c.operator, [t.shape for t in c.tensors]) for c in each.calls)
        for each in (captured, again)
    )
    assert [name for name, _ in after] == [name for name, _ in before]
    assert after == before


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(UserError, match="neither an ExecutionTrace"):
        convert(tmp_path / "x.json", tmp_path / "y.jsonl")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        convert(tmp_path / "x.json", tmp_path / "y.jsonl")


def test_schemas_are_read():
    found = parsed("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> x")
    assert (found.qualified, found.names, found.positional, found.writes) == (
        "aten::add_.Tensor", ("self", "other", "alpha"), 2, (0,),
    )  # fmt: skip
