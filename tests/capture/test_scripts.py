"""Kinds of training step, each recorded: its losses are what they are without us, and its calls
run again."""

from __future__ import annotations

import importlib

import pytest
from tests.late import late

from opbench.capture.reading import read
from opbench.cli.lookup import defined

torch = late("torch")

PLAIN = (
    "gru_attention", "autocast", "checkpointing", "custom_op", "vmap_step", "accumulation",
    "sparse_fft", "jagged", "views_in_place",
)  # fmt: skip
NEED = {"gpt2": "transformers", "bert": "transformers"}


def losses_of(name, *way):
    return importlib.import_module(f"tests.capture.scripts.{name}").losses(*way)


def recorded(path, name, *way):
    import opbench

    with opbench.record(path, steps="2"):
        return losses_of(name, *way)


def check_replay(path):
    """Each call, and the step in order, run as a worker would run them, once or twice."""
    failed = []
    for case in defined([str(path)]):
        if case.unsupported or case.axes.get("phase", "step") != "step":
            continue
        names: dict = {"seed": 0}
        try:
            exec(case.globals, names)
            exec(case.setup, names)
            for _ in range(2):
                exec(case.before, names)
                exec(case.stmt, names)
        except Exception as error:
            failed.append((case.name, repr(error)[:200]))
        if case.name == "in_order":
            assert len(names["calls"]) == len(names["plan"]["calls"])
    assert failed == []


@pytest.mark.parametrize("name", [*PLAIN, "gpt2", pytest.param("bert", marks=pytest.mark.slow)])
def test_losses_are_as_ever_and_every_call_runs_again(tmp_path, name):
    if name in NEED:
        pytest.importorskip(NEED[name])
    assert recorded(tmp_path / "c.jsonl", name) == losses_of(name)
    capture = read(tmp_path / "c.jsonl")
    assert [(c.name, c.obstacle) for c in capture.calls if c.obstacle] == []
    assert capture.skipped == {}
    check_replay(tmp_path / "c.jsonl")


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_collectives_are_recorded_and_everything_else_runs_again(tmp_path, way):
    assert recorded(tmp_path / "c.jsonl", "distributed", way) == losses_of("distributed", way)
    calls = read(tmp_path / "c.jsonl").calls
    refused = [call for call in calls if call.obstacle]
    assert refused or way == "fsdp"  # which, alone in its group, has nobody to ask
    assert all(call.collective for call in refused), [c.name for c in refused if not c.collective]
    check_replay(tmp_path / "c.jsonl")


def test_a_compiled_pooling_runs_again(tmp_path):
    """Its operators are Inductor's own, and so are the strides of its tensors."""
    import opbench

    torch._dynamo.reset()
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 2, 3)
    )
    model, optimizer = torch.compile(net), torch.optim.SGD(net.parameters())
    with opbench.record(tmp_path / "c.jsonl", steps="2"):
        for _ in range(2):
            model(torch.randn(2, 3, 10, 10)).sum().backward()
            optimizer.step()
    names = [call.name for call in read(tmp_path / "c.jsonl").calls if call.compiled]
    assert len(names) == 2
    check_replay(tmp_path / "c.jsonl")


@pytest.mark.parametrize("way", ["wrapped", "in place"])
def test_a_compiled_model_is_recorded_region_by_region(tmp_path, way):
    torch._dynamo.reset()
    expected = losses_of("compiled", way)
    torch._dynamo.reset()
    assert recorded(tmp_path / "c.jsonl", "compiled", way) == expected
    capture = read(tmp_path / "c.jsonl")
    regions = [call for call in capture.calls if call.compiled]
    assert [tuple(call.counts) for call in regions] == [("forward",), ("backward",)]
    assert all(call.graph.nodes and call.time > 0 for call in regions)
    # What the kernels do is in them, and nowhere else.
    assert not any("addmm" in c.operator or c.operator == "aten::mm" for c in capture.calls)
    # Operator by operator the graph gives what the region gave: the same shapes.
    from opbench.suites.captured import makers

    names: dict = {}
    exec(f"{makers.CALL}\n{makers.COMPILED}", names)
    for call in regions:
        inputs = [
            names["tensor"](t.shape, getattr(torch, t.dtype), t.strides, t.values)
            for t in call.tensors
        ]
        found = names["eager_graph"](call.graph.nodes, inputs)(*inputs)
        shapes = [tuple(each.shape) for each in found if each is not None]
        assert shapes == [output.shape for output in call.outputs]


def test_what_records_is_never_compiled_itself(tmp_path):
    """Where a compiled function calls `backward`, the compiler sees every function that runs."""
    from tests.capture.scripts.compiled import losses_with_backward

    import opbench
    from opbench.capture.operators.mode import OperatorMode
    from opbench.capture.operators.phases import Phases

    torch._dynamo.reset()
    expected = losses_with_backward()
    torch._dynamo.reset()
    with opbench.record(tmp_path / "c.jsonl", steps="2"):
        assert losses_with_backward() == expected
    compiled = torch._C._dynamo.eval_frame._debug_get_cache_entry_list
    ours = [OperatorMode.note, OperatorMode.__torch_dispatch__, Phases.handle, Phases.enter]
    assert [function.__name__ for function in ours if compiled(function.__code__)] == []
    phases = {tuple(call.counts) for call in read(tmp_path / "c.jsonl").calls if call.compiled}
    assert phases == {("forward",), ("backward",)}


def test_a_warm_compiled_model_is_a_region_without_its_graph(tmp_path):
    import opbench

    torch._dynamo.reset()
    net = torch.compile(torch.nn.Linear(3, 3))
    x = torch.randn(2, 3)
    with torch.no_grad():
        expected = net(x)
        with opbench.record(tmp_path / "c.jsonl"):
            assert net(x).equal(expected)
    capture = read(tmp_path / "c.jsonl")
    (region,) = [call for call in capture.calls if call.compiled]
    assert "compiled before the recording began" in region.obstacle
    assert region.counts == {"forward": 1}


@pytest.mark.slow
def test_a_compiled_region_is_compiled_anew_and_measured(tmp_path):
    from opbench.api.run import run as measure

    torch._dynamo.reset()
    recorded(tmp_path / "c.jsonl", "compiled", "wrapped")
    found = measure(tmp_path / "c.jsonl", num_runs=1, num_repeats=2, save=False)
    assert {r.outcome_text for c, r in found if c.name.startswith("compiled.")} == {"ok"}
    assert all(r.ok for c, r in found if c.name == "in_order")
