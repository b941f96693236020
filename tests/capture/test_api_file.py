"""Files from anywhere: broken and hostile ones are refused with their line, nothing is run."""

from __future__ import annotations

import json

import pytest

from opbench.capture.api_file import BadApiCapture, level_of, parse
from opbench.suites.captured.api_definition import definition_of, goes_backward
from opbench.suites.captured.api_source import program_of

HEADER = {"opbench": "capture", "version": 1, "level": "api"}


def text(*lines) -> list[str]:
    return [json.dumps(line) if not isinstance(line, str) else line for line in (HEADER, *lines)]


def one(**call):
    return parse(text({"args": [], "kwargs": {}, **call}))[0]


RELU = {"function": "torch.relu", "args": [{"tensor": "float32[2,3]"}]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: a line is a JSON object"),
        ("[" * 100_000, "line 2: nested too deeply"),
        ('{"function": "torch.relu", "count": NaN}', "not a JSON number"),
        ({"args": []}, "expected one of module, function, method, named, found none"),
        ({**RELU, "method": "torch.Tensor.view"}, "found function, method"),
        ({"function": "__import__('os').system('x')"}, "is no name such as"),
        ({"function": "torch.relu\nimport os"}, "is no name such as"),
        ({**RELU, "kwargs": {"a=1, b": 2}}, "is no name of an argument"),
        ({**RELU, "args": [{"tensor": "float32[2,3"}]}, "is no tensor; one looks like"),
        ({**RELU, "args": [{"tensor": "float32[99999999999999999999]"}]}, "larger than any tensor"),
        ({**RELU, "args": [{"tensor": "int8[2]", "range": ["a", 1]}]}, "range: expected whole"),
        ({**RELU, "args": [{"tensor": "int8[2]", "range": [5, 1]}]}, "least and the greatest"),
        ({**RELU, "args": [{"tensor": "int8[2]", "strides": [-1]}]}, "none below zero"),
        ({**RELU, "args": [{"dtype": "float32); import os"}]}, "dtype: 'float32); import os' is"),
        ({**RELU, "args": [{"device": "cpu'"}]}, 'device: "cpu\'" is none'),
        ({**RELU, "args": [{"pickle": "gASV"}]}, "of the unknown kind 'pickle'"),
        ({**RELU, "args": [{"float": "1); x"}]}, "is no number"),
        ({**RELU, "count": -1}, "count: expected a whole number"),
        ({**RELU, "inside": "x"}, "inside: expected a list of names"),
        ({"module": "torch.nn.modules.linear.Linear", "init": []}, None),
        ({"module": "torch.nn.modules.linear.Linear", "init": [1]}, "init: expected an object"),
    ],
)
def test_a_broken_line_is_told_by_its_number(line, said):
    if said is None:
        parse(text(line))
        return
    with pytest.raises(BadApiCapture) as told:
        parse(text(line))
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_other_files_are_told_apart(tmp_path):
    path = tmp_path / "x.jsonl"
    for content, level in (
        (json.dumps(HEADER) + "\n", "api"),
        ('{"opbench": "capture", "version": 1}\n', "operators"),
        ('{"something": 1}\n', ""),
        ("\x00", ""),
    ):
        path.write_text(content)
        assert level_of(path) == level
    assert level_of(tmp_path / "missing.jsonl") == ""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "is empty"),
        ([json.dumps({**HEADER, "version": 2})], "version 2 of the format; this opbench reads 1"),
        ([json.dumps(HEADER)], "holds no call"),
    ],
)
def test_files_with_nothing_in_them(lines, said):
    with pytest.raises(BadApiCapture, match=said):
        parse(lines)


def test_names_are_looked_up_among_torchs_own_and_never_pasted():
    call = one(function="torch.hub.load", args=["evil/repo"])
    program = program_of(call, "cpu")
    assert 'function = registered("torch.hub.load")' in program.setup
    assert program.forward == "y = function('evil/repo')"


def test_a_class_outside_of_torch_nn_is_not_imported():
    call = one(module="app.models.Net", args=[{"tensor": "float32[2]"}])
    program = program_of(call, "cpu")
    assert program.unsupported == (
        "its class app.models.Net is not in torch.nn; the calls inside it are here too"
    )
    assert program.forward == "pass"


def test_text_stays_text():
    call = one(function="torch.einsum", args=['ij->ij") or exec("x'])
    assert program_of(call, "cpu").forward == """y = function('ij->ij") or exec("x')"""


def test_in_place_calls_begin_with_the_same_values_each_time():
    call = one(method="torch.Tensor.mul_", args=[{"tensor": "float32[2]"}, 3.0])
    program = program_of(call, "cpu")
    assert program.before == "t0 = t0_kept.clone()"
    assert not goes_backward(call)


def test_backward_only_where_a_gradient_flowed():
    grad = {"tensor": "float32[2]", "grad": True}
    out = {"tensor": "float32[2]", "grad": True}
    with_grad = one(function="torch.relu", args=[grad], out=out)
    plain = {"tensor": "float32[2]"}
    without = one(function="torch.relu", args=[plain], out=plain)
    assert goes_backward(with_grad)
    assert not goes_backward(without)


def test_a_tuple_goes_backward_from_its_first_tensor_of_real_numbers():
    out = {"tuple": [{"tensor": "int64[2]"}, {"tuple": [{"tensor": "float32[2]", "grad": True}]}]}
    call = one(module="torch.nn.modules.rnn.LSTM", init={"args": [2, 2], "kwargs": {}}, out=out)
    assert program_of(call, "cpu").output == "y[1][0]"


def test_each_call_has_a_name_of_its_own(tmp_path):
    names = [definition_of(call, tmp_path / "c.jsonl").name for call in parse(text(RELU, RELU))]
    assert names == ["relu-000", "relu-001"]
