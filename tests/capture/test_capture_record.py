"""`opbench.record` inside a program: as a context, a decorator, and from here on."""

from __future__ import annotations

import pytest
from tests.late import late

from opbench.capture.reading import read

torch = late("torch")


def names(path):
    return [call.qualified for call in read(path).calls]


def test_what_runs_inside_is_recorded_and_nothing_else(tmp_path):
    import opbench

    x = torch.ones(3)
    x + 1
    with opbench.record(tmp_path / "c.jsonl"):
        torch.exp(x)
        x @ x
    x * 2
    assert names(tmp_path / "c.jsonl") == ["aten::exp", "aten::dot"]


def test_a_function_has_the_name_it_was_called_by(tmp_path):
    """One C function serves `mm`, `spmm` and `dsmm`; torch's own table knows the last of them."""
    import opbench

    x = torch.ones(3, 3)
    with opbench.record(tmp_path / "c.jsonl"):
        torch.mm(x, x)
        torch.nn.functional.relu(x)
    assert [call.apis for call in read(tmp_path / "c.jsonl").calls] == [
        ("torch.mm",), ("torch.nn.functional.relu",),
    ]  # fmt: skip


@pytest.mark.filterwarnings("error:Accessing the data pointer")
def test_working_out_shapes_is_no_work(tmp_path):
    """As FSDP does for its sharded tensors: an operator of tensors without data."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    import opbench

    with FakeTensorMode() as mode:
        shape = torch.ones(3, 3)
    with opbench.record(tmp_path / "c.jsonl"):
        assert (shape @ shape).shape == (3, 3)
        with mode:
            torch.ones(3) + 1
        torch.ones(3).exp()
    assert names(tmp_path / "c.jsonl") == ["aten::ones", "aten::exp"]


def test_a_whole_step_inside_is_one_step_and_calls_alone_are_counted(tmp_path):
    import opbench

    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with opbench.record(tmp_path / "step.jsonl"):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    step = read(tmp_path / "step.jsonl")
    assert step.steps == 1
    assert len(step.order) == sum(call.count for call in step.calls)
    assert {s.phase for s in step.order} == {"data", "forward", "backward", "optimizer"}
    with opbench.record(tmp_path / "calls.jsonl"), torch.no_grad():
        for _ in range(3):
            model(torch.ones(1, 2))
    calls = read(tmp_path / "calls.jsonl")
    assert calls.steps == 3
    assert [calls.calls[s.call].operator for s in calls.order][-1] == "aten::addmm"
    assert len(calls.order) == sum(call.count for call in calls.calls) / 3


def test_a_decorated_function_is_recorded_at_the_call_that_was_asked_for(tmp_path):
    import opbench

    @opbench.record(tmp_path / "c.jsonl", calls="2")
    def work(n):
        return torch.zeros(n).sin()

    assert [work(n).shape[0] for n in (1, 2, 3)] == [1, 2, 3]
    assert [call.tensors[0].shape for call in read(tmp_path / "c.jsonl").calls[1:]] == [(2,)]


def test_start_and_stop_write_the_default_file(tmp_path, monkeypatch):
    import opbench

    monkeypatch.chdir(tmp_path)
    opbench.record.start()
    torch.ones(2).cos()
    opbench.record.stop()
    assert "aten::cos" in names(tmp_path / "opbench-capture.jsonl")


def test_two_modules_are_named_and_the_others_counted(tmp_path):
    import opbench

    model = torch.nn.Sequential(*(torch.nn.ReLU() for _ in range(5)))
    with opbench.record(tmp_path / "c.jsonl"):
        x = torch.ones(3).relu()  # in no module
        model(x)
    relu = next(c for c in read(tmp_path / "c.jsonl").calls if c.operator == "aten::relu")
    assert (relu.modules, relu.more_modules) == (("0", "1"), 3)


def test_arguments_that_share_memory_are_told_so(tmp_path):
    import opbench

    x = torch.arange(12.0)
    with opbench.record(tmp_path / "c.jsonl"):
        torch.add(x[4:8], x[:4])
        torch.add(x[4:8], x[:4].clone())
    calls = [call for call in read(tmp_path / "c.jsonl").calls if call.operator == "aten::add"]
    first, second = calls
    assert [(t.alias, t.offset) for t in first.tensors] == [(None, 4), (0, 0)]
    assert [(t.alias, t.offset) for t in second.tensors] == [(None, 0), (None, 0)]


def test_values_that_steer_the_work_are_kept(tmp_path):
    import opbench

    weight, index = torch.randn(9, 2), torch.tensor([4, 4, 8, 0])
    with opbench.record(tmp_path / "c.jsonl"):
        torch.embedding(weight, index)
        torch.where(torch.tensor([True, False, True]), torch.zeros(3), torch.ones(3))
        torch.nn.functional.relu(torch.tensor([-1.0, 0.0, 3.0, 0.0]))
    calls = {call.operator: call for call in read(tmp_path / "c.jsonl").calls}
    assert calls["aten::embedding"].tensors[1].values == {"is": [4, 4, 8, 0]}
    assert calls["aten::where"].tensors[0].values == {"bits": "101"}
    assert calls["aten::relu"].tensors[0].values == (-1.0, 3.0, 1.0, 2.83, 0.5)


def test_of_very_many_integers_the_bounds_are_kept_and_a_sample_tells_the_rest(
    tmp_path, monkeypatch
):
    import opbench
    from opbench.capture import snapshots

    monkeypatch.setattr(snapshots, "MOST_INTEGERS", 1000)
    few = torch.arange(100_000) % 50
    few[4321] = 777  # which no sample of a thousand need hold
    every = torch.randperm(90_000)
    with opbench.record(tmp_path / "c.jsonl"):
        torch.neg(few)
        torch.neg(every)
        torch.neg(torch.full((5000,), 7))
    kept = [call.tensors[0].values for call in read(tmp_path / "c.jsonl").calls if call.tensors]
    assert (kept[0]["lo"], kept[0]["hi"]) == (0, 777)
    assert kept[0]["distinct"] * 100_000 == pytest.approx(50, abs=2)
    assert (kept[1]["lo"], kept[1]["hi"]) == (0, 89_999)
    assert kept[1]["distinct"] == 1
    assert kept[2] == {"all": 7}


def test_the_step_before_the_window_is_where_arguments_are_copied(tmp_path, monkeypatch):
    from opbench.capture.operators import mode
    from opbench.capture.operators.recorder import OperatorRecorder

    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters())
    copied = []

    def counted(*args):
        copied.append(recorder.steps)
        return take(*args)

    take = mode.take_snapshots
    monkeypatch.setattr(mode, "take_snapshots", counted)
    recorder = OperatorRecorder(tmp_path / "c.jsonl", steps="4").start()
    for number in range(1, 6):
        rows = torch.ones(3 if number == 4 else 2, 4)  # one batch is of another size
        optimizer.zero_grad()
        (model(rows).sum() * torch.tensor(2.0)).backward()
        optimizer.step()
    recorder.finish()
    calls = read(tmp_path / "c.jsonl").calls
    assert all(call.count for call in calls)
    rehearsed, fresh = copied.count(2), copied.count(3)
    assert rehearsed > fresh > 0
    (product,) = [call for call in calls if call.operator == "aten::addmm"]
    assert product.tensors[1].shape == (3, 4)
    moments = [call for call in calls if call.operator == "aten::addcmul_"]
    assert moments
    assert any(tensor.values != (0.0, 0.0) for call in moments for tensor in call.tensors)


def test_what_cannot_be_recorded_costs_only_itself(tmp_path):
    import opbench

    with opbench.record(tmp_path / "c.jsonl"):
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).dequantize()
        torch.nested.nested_tensor([torch.ones(3), torch.ones(2)]).cos()
        torch.ones(3, dtype=torch.int64) & 1
    calls = {call.operator: call for call in read(tmp_path / "c.jsonl").calls}
    said = {"dequantize": "a quantized tensor (qint8)", "cos": "a nested tensor"}
    said["quantize_per_tensor"] = "a value (unknown dtype 'qint8')"
    for name, what in said.items():
        assert calls[f"aten::{name}"].obstacle == f"{what} cannot be recorded"
    assert any(name in calls for name in ("aten::__and__", "aten::bitwise_and"))


def test_exceptions_pass_and_the_file_is_written(tmp_path):
    import opbench

    @opbench.record(tmp_path / "c.jsonl")
    def fails():
        torch.ones(2).sin()
        raise KeyError("x")

    with pytest.raises(KeyError):
        fails()
    assert "aten::sin" in names(tmp_path / "c.jsonl")
    assert torch.autograd.backward.__module__ == "torch.autograd"


def test_a_compiled_function_stays_compiled():
    from opbench.capture.operators.mode import OperatorMode

    assert OperatorMode.ignore_compile_internals()
