"""From a program to a file to measured cases: what was recorded runs again, alone."""

from __future__ import annotations

import json

import pytest
from tests.late import Late, late

from opbench.capture.record import record_api
from opbench.define.expand import expand
from opbench.suites.captured.api.definition import definitions_of

torch = late("torch")
nn, F = Late("torch.nn"), Late("torch.nn.functional")


def program() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2)
    )
    net(torch.randn(2, 3, 8, 8)).mean().backward()
    nn.LSTM(4, 5, batch_first=True)(torch.randn(2, 3, 4))
    nn.MultiheadAttention(8, 2, batch_first=True)(*[torch.randn(2, 3, 8)] * 3, need_weights=False)
    x = nn.Embedding(11, 8)(torch.randint(0, 11, (2, 5)))
    x = F.layer_norm(x, (8,)) + 1
    F.cross_entropy(x.flatten(0, 1), torch.randint(0, 8, (10,)))
    x.transpose(1, 2)[:, 1:].contiguous().view(2, -1).softmax(-1).topk(3)
    torch.zeros(3).add_(1.0).clamp(min=0.5, max=float("inf"))
    torch.cat([x.T if x.dim() == 2 else x, x], dim=-1).masked_fill(x.new_ones(1).bool(), 0.0)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    path = tmp_path_factory.mktemp("api") / "calls.jsonl"
    with record_api(path):
        program()
    return path


def test_every_recorded_call_of_torch_runs_again(captured):
    """In this process, as the children that measure would: source, set-up, one call."""
    cases = expand(definitions_of(captured))
    assert len(cases) > 40
    wrong = {}
    for case in cases:
        names: dict = {"seed": 0, "__name__": "case"}
        try:
            assert not case.unsupported, case.unsupported
            for source in (case.globals, case.setup, case.before, case.stmt):
                exec(source, names)  # our own text, from a file that we wrote ourselves
        except Exception as error:
            wrong[case.id] = f"{case.stmt}: {error}"
    (left,) = wrong.items()
    assert "a backward pass is more than this call" in left[1]


def test_it_can_be_measured_from_the_command_line(captured, opbench_here):
    done = opbench_here(
        "run", captured, "-k", "conv2d-", "-k", "lstm-", "--num-runs", "1", "--num-repeats", "2"
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "calls/Conv2d-" in done.stdout
    assert "/backward" in done.stdout
    assert "failed" not in done.stdout


def test_a_hostile_name_is_an_outcome_and_nothing_is_called(opbench_here, tmp_path):
    lines = [
        {"opbench": "capture", "version": 1, "level": "api"},
        {"function": "torch.hub.load", "args": ["some/repo"], "count": 1},
    ]
    path = tmp_path / "hostile.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = opbench_here("run", path)
    assert "has no function torch.hub.load of tensors" in done.stdout
    path.write_text(json.dumps(lines[0]) + '\n{"function": "os.system(1)"}\n')
    done = opbench_here("run", path)
    assert done.returncode == 2
    assert "hostile.jsonl line 2: function: 'os.system(1)' is not a name" in done.stderr


def test_the_file_can_be_looked_at(captured, opbench_here):
    done = opbench_here("show", captured)
    assert done.returncode == 0, done.stderr
    assert "torch.nn.functional.layer_norm" in done.stdout
    assert "unique)" in done.stdout
