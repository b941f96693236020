"""The API-level view of real programs: which calls are seen, with which arguments."""

from __future__ import annotations

import inspect
import json
import pickle
import pickletools
import subprocess
import sys
from pathlib import Path

import pytest
from tests.late import Late, late

from opbench.capture.codec import API
from opbench.capture.reading import read_api
from opbench.capture.record import record_api
from opbench.capture.values import Arguments, Opaque
from opbench.errors import UserError

torch = late("torch")
nn, F = Late("torch.nn"), Late("torch.nn.functional")
blocks = Late("tests.capture.block")


def fused(a, b, *, alpha=1.0):
    return a + alpha * b


def recorded(tmp_path: Path, run, **options):
    """Every call, by (kind, name): several when the arguments differ."""
    path = tmp_path / "calls.jsonl"
    with record_api(path, **options):
        run()
    found: dict = {}
    for call in read_api(path):
        found.setdefault((call.kind, call.name), []).append(call)
    return found


def tensor(text: str, **more):
    return API.decode({"tensor": text, **more})


def test_modules_with_constructor_arguments_and_inputs(tmp_path):
    def run():
        block = blocks.Block(4, scale=0.5)
        for _ in range(3):
            block(torch.ones(2, 4), mask=torch.ones(2, 3, dtype=torch.bool))

    found = recorded(tmp_path, run)
    (block,) = found["module", "tests.capture.block.Block"]
    assert block.init == Arguments((4,), {"scale": 0.5})
    assert block.init_from == "constructor"
    assert block.args == (tensor("float32[2,4]"),)
    assert block.kwargs == {"mask": tensor("bool[2,3]")}
    assert block.count == 3
    (linear,) = found["module", "torch.nn.modules.linear.Linear"]
    assert linear.init == Arguments((4, 3), {"bias": False})
    assert linear.inside == ("fc",)
    assert linear.out == tensor("float32[2,3]", grad=True)


def test_functions_and_tensor_methods_with_all_their_arguments(tmp_path):
    found = recorded(tmp_path, lambda: blocks.Block(4)(torch.ones(2, 4)))
    (gelu,) = found["function", "torch.nn.functional.gelu"]
    assert gelu.args == (tensor("float32[2,3]", grad=True),)
    assert gelu.kwargs == {"approximate": "tanh"}
    assert gelu.inside == ("Block",)
    (linear,) = found["function", "torch.nn.functional.linear"]
    assert linear.inside == ("fc",)
    (view,) = found["method", "torch.Tensor.view"]
    assert view.args == (tensor("float32[2,3]", grad=True), -1, 3)
    assert any(name.endswith(("mul", "__mul__")) for _, name in found)


def test_operators_that_are_no_names_are_seen_too(tmp_path):
    def run():
        x = torch.arange(6.0).reshape(2, 3)
        x @ x.T + 1
        x[:, 1:], x[..., None]
        x[0, 0] = 3.0
        return x > 0

    found = recorded(tmp_path, run)
    names = {name.rpartition(".")[2] for _, name in found}
    assert names & {"__matmul__", "matmul"}
    assert names & {"__add__", "add"}
    assert names & {"__gt__", "gt"}
    assert {"__getitem__", "__setitem__", "T", "arange", "reshape"} <= names
    indexed = found["method", "torch.Tensor.__getitem__"]
    assert (slice(None), slice(1, None)) in [call.args[1] for call in indexed]


def test_the_methods_that_the_older_tool_listed_and_some_that_it_missed(tmp_path):
    def run():
        x = torch.ones(2, 3)
        x.repeat(2, 1), x.view(3, 2), x.ne(1), x.cumsum(0), x.softmax(-1), x.topk(1), x.half()

    found = recorded(tmp_path, run)
    names = {name for _, name in found}
    for method in ("repeat", "view", "ne", "cumsum", "softmax", "topk", "half"):
        assert f"torch.Tensor.{method}" in names


def test_looking_at_a_tensor_is_no_call(tmp_path):
    def run():
        x = torch.ones(2, 3)
        return x.shape, x.dtype, x.device, x.requires_grad, x.is_cuda, x.grad

    assert list(recorded(tmp_path, run)) == [("function", "torch.ones")]


def test_any_function_that_is_named_wherever_it_was_imported_to(tmp_path):
    def run():
        fused(torch.ones(2), torch.ones(2), alpha=3)

    found = recorded(tmp_path, run, functions=[fused])
    (call,) = found["named", f"{__name__}:fused"]
    assert call.kwargs == {"alpha": 3}
    assert call.args == (tensor("float32[2]"), tensor("float32[2]"))
    assert fused.__name__ == "fused"
    assert not hasattr(fused, "__wrapped__"), "it is put back as it was"


def test_or_by_the_text_that_a_command_line_has(tmp_path):
    found = recorded(tmp_path, lambda: json.dumps([1, "x"]), functions=["json:dumps"])
    assert found["named", "json:dumps"][0].args == ([1, "x"],)


@pytest.mark.parametrize("name", ["json", "json:dmps", "no_such_module:f", "sys:argv"])
def test_a_function_that_does_not_exist(tmp_path, name):
    with pytest.raises(UserError, match=name), record_api(tmp_path / "x", functions=[name]):
        pass
    torch.ones(1)  # and nothing is left behind
    assert not (tmp_path / "x").exists()


def test_copies_know_what_they_were_made_with(tmp_path):
    def run():
        layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0)
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)(torch.ones(3, 2, 8))

    found = recorded(tmp_path, run)
    first, second = found["module", "torch.nn.modules.transformer.TransformerEncoderLayer"]
    assert first.init == second.init
    assert first.init == Arguments((8, 2), {"dim_feedforward": 16, "dropout": 0.0})
    assert (first.inside, second.inside) == (("layers.0",), ("layers.1",))
    assert not first.args[0].grad
    assert second.args[0].grad


def test_modules_made_before_are_read_from_their_attributes(tmp_path):
    conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
    found = recorded(tmp_path, lambda: conv(torch.ones(1, 3, 5, 5)))
    (call,) = found["module", "torch.nn.modules.conv.Conv2d"]
    assert call.init_from == "attributes"
    assert call.init.kwargs["padding"] == (1, 1)
    assert call.init.kwargs["bias"] is False
    assert call.init.kwargs["in_channels"] == 3


def test_whole_numbers_by_their_range_unless_values_are_private(tmp_path):
    def run():
        nn.Embedding(10, 2)(torch.tensor([3, 7]))

    (call,) = recorded(tmp_path, run)["module", "torch.nn.modules.sparse.Embedding"]
    assert call.args == (tensor("int64[2]", range=[3, 7]),)
    # How the range was found is no call of the program.
    assert "torch.Tensor.min" not in (tmp_path / "calls.jsonl").read_text()
    (call,) = recorded(tmp_path, run, values=False)["module", "torch.nn.modules.sparse.Embedding"]
    assert call.args == (tensor("int64[2]"),)


def test_an_argument_is_described_as_it_was_before_the_call_changed_it(tmp_path):
    found = recorded(tmp_path, lambda: torch.ones(2, 3).unsqueeze_(0))
    assert found["method", "torch.Tensor.unsqueeze_"][0].args == (tensor("float32[2,3]"), 0)


def test_strides_where_a_tensor_is_not_contiguous(tmp_path):
    found = recorded(tmp_path, lambda: torch.relu(torch.ones(2, 3).t()))
    call = found["function", "torch.relu"][0]
    assert call.args == (tensor("float32[3,2]", strides=[1, 3]),)


def test_objects_are_named_and_never_stored(tmp_path):
    class Config:
        secret = "x" * 50

    class Takes(nn.Module):
        def forward(self, config):
            return torch.ones(1)

    found = recorded(tmp_path, lambda: Takes()(Config()))
    (call,) = [c for (kind, _), (c, *_) in found.items() if kind == "module"]
    assert isinstance(call.args[0], Opaque)
    assert call.args[0].description.endswith("Config")
    assert "xxx" not in (tmp_path / "calls.jsonl").read_text()


def test_an_error_in_the_program_passes_through_and_the_file_is_written(tmp_path):
    path = tmp_path / "calls.jsonl"
    with pytest.raises(RuntimeError), record_api(path):
        torch.ones(2) @ torch.ones(3)
    assert "torch.ones" in path.read_text()


def test_as_a_decorator(tmp_path):
    @record_api(tmp_path / "d.jsonl")
    def step(n):
        return torch.ones(n)

    assert step(3).shape == (3,)
    assert [call.name for call in read_api(tmp_path / "d.jsonl")] == ["torch.ones"]


def test_a_training_step_is_as_it_was_without_recording(tmp_path):
    def step():
        torch.manual_seed(0)
        model = blocks.Block(4)
        model(torch.ones(2, 4)).sum().backward()
        return model.fc.weight.grad

    plain = step()
    with record_api(tmp_path / "s.jsonl"):
        seen = step()
    assert torch.equal(plain, seen)
    assert torch.equal(plain, step())


OLD_SCRIPT = """
from opbench.patching_hook import init, hook, add_wrapper
import torch
from torch import nn
nn.modules.module.register_module_forward_pre_hook(hook)
init(path="out/picklefile")
import textwrap
add_wrapper(textwrap, "dedent")
add_wrapper(torch.nn.functional, "of_another_version")
nn.Sequential(nn.Linear(4, 2), nn.ReLU())(torch.ones(3, 4)).view(-1).repeat(2)
textwrap.dedent(" x")
"""


def test_a_script_of_the_older_tool_runs_after_its_import_line(tmp_path):
    (tmp_path / "train.py").write_text(OLD_SCRIPT)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    names = {call.name: call for call in read_api(tmp_path / "out/picklefile.jsonl")}
    assert names["torch.nn.modules.linear.Linear"].count == 1
    assert {"torch.Tensor.view", "torch.Tensor.repeat", "textwrap:dedent"} <= set(names)
    assert "wrote" in done.stderr
    assert "out/picklefile.jsonl" in done.stderr
    assert "torch.nn.functional has no of_another_version, so no call" in done.stderr
    # Plain values only: nothing in it names a class or a function.
    pickled = (tmp_path / "out/picklefile").read_bytes()
    used = {op.name for op, _, _ in pickletools.genops(pickled)}
    assert not used & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "INST", "OBJ", "NEWOBJ", "BUILD"}
    calls = pickle.loads(pickled)
    assert "torch.nn.modules.linear.Linear" in [call.get("module") for call in calls]


def test_the_pickle_of_the_older_tool_is_written_where_its_document_says():
    from opbench.patching_hook import init

    assert inspect.signature(init).parameters["path"].default == "/tmp/picklefile"


def test_a_pickle_is_not_loaded_and_the_way_out_is_named(tmp_path, opbench_here):
    (tmp_path / "picklefile").write_bytes(pickle.dumps({"a": 1}))
    done = opbench_here("run", "picklefile")
    assert done.returncode == 2
    assert "picklefile is a pickle, which opbench does not load" in done.stderr
    assert "opbench.patching_hook" in done.stderr


SCRIPT = """
import sys
import torch

def own(x, *, k):
    return x * k

own(torch.nn.Linear(4, 2)(torch.ones(3, 4)), k=int(sys.argv[1]))
own(torch.ones(1), k=1)
"""


def test_a_script_is_recorded_without_an_edit(tmp_path, opbench):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = opbench(
        "capture", "--level", "api", "--function", "__main__:own", "--function", "__main__:no",
        "-o", "calls.jsonl", "train.py", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "__main__:no was never defined" in done.stderr
    found = {call.name: call for call in read_api(tmp_path / "calls.jsonl")}
    assert found["torch.nn.modules.linear.Linear"].init.args == (4, 2)
    assert "k" in found["__main__:own"].kwargs
