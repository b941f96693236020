"""Recorded Python calls as source: names are looked up, values are written by us."""

from __future__ import annotations

import json

from opbench.capture.reading import parse_api
from opbench.suites.captured.api.definition import definition_of, goes_backward
from opbench.suites.captured.api.report import table
from opbench.suites.captured.api.source import program_of

HEADER = {"opbench": "capture", "version": 1, "level": "api"}
RELU = {"function": "torch.relu", "args": [{"tensor": "float32[2,3]"}]}


def recorded(*lines):
    return parse_api(json.dumps(line) for line in (HEADER, *lines))


def call_of(**line):
    return recorded({"args": [], "kwargs": {}, **line})[0]


def test_names_are_looked_up_among_torchs_own_and_never_pasted():
    call = call_of(function="torch.hub.load", args=["evil/repo"])
    program = program_of(call, "cpu")
    assert 'function = registered("torch.hub.load")' in program.setup
    assert program.forward == "y = function('evil/repo')"


def test_a_class_outside_of_torch_nn_is_not_imported():
    call = call_of(module="app.models.Net", args=[{"tensor": "float32[2]"}])
    program = program_of(call, "cpu")
    assert program.unsupported == (
        "its class app.models.Net is not in torch.nn; the calls inside it are here too"
    )
    assert program.forward == "pass"


def test_text_stays_text():
    call = call_of(function="torch.einsum", args=['ij->ij") or exec("x'])
    assert program_of(call, "cpu").forward == """y = function('ij->ij") or exec("x')"""


def test_in_place_calls_begin_with_the_same_values_each_time():
    call = call_of(method="torch.Tensor.mul_", args=[{"tensor": "float32[2]"}, 3.0])
    program = program_of(call, "cpu")
    assert program.before == "t0 = t0_kept.clone()"
    assert not goes_backward(call)


def test_backward_only_where_a_gradient_flowed():
    grad = {"tensor": "float32[2]", "grad": True}
    out = {"tensor": "float32[2]", "grad": True}
    with_grad = call_of(function="torch.relu", args=[grad], out=out)
    plain = {"tensor": "float32[2]"}
    without = call_of(function="torch.relu", args=[plain], out=plain)
    assert goes_backward(with_grad)
    assert not goes_backward(without)


def test_a_tuple_goes_backward_from_its_first_tensor_of_real_numbers():
    out = {"tuple": [{"tensor": "int64[2]"}, {"tuple": [{"tensor": "float32[2]", "grad": True}]}]}
    call = call_of(module="torch.nn.modules.rnn.LSTM", init={"args": [2, 2], "kwargs": {}}, out=out)
    assert program_of(call, "cpu").output == "y[1][0]"


def test_each_call_has_a_name_of_its_own(tmp_path):
    names = [definition_of(call, tmp_path / "c.jsonl").name for call in recorded(RELU, RELU)]
    assert names == ["relu-000", "relu-001"]


def test_a_call_outside_of_any_module_leaves_no_comma():
    calls = recorded({**RELU, "kwargs": {}, "inside": ["1", ""]})
    assert [row[-1] for row in table(calls).rows] == ["1"]
