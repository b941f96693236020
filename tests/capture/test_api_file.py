"""Files from anywhere: broken and hostile ones are refused with their line, nothing is run."""

from __future__ import annotations

import json

import pytest

from opbench.capture.reading import BadCapture, level_of, parse_api

HEADER = {"opbench": "capture", "version": 1, "level": "api"}


def text(*lines) -> list[str]:
    return [json.dumps(line) if not isinstance(line, str) else line for line in (HEADER, *lines)]


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
        ({"function": "__import__('os').system('x')"}, "is not a name such as"),
        ({"function": "torch.relu\nimport os"}, "is not a name such as"),
        ({**RELU, "kwargs": {"a=1, b": 2}}, "is not the name of an argument"),
        ({**RELU, "args": [{"tensor": "float32[2,3"}]}, "is not a tensor; one looks like"),
        ({**RELU, "args": [{"tensor": "float32[99999999999999999999]"}]}, "is not an integer"),
        (
            {**RELU, "args": [{"tensor": "int8[2]", "range": ["a", 1]}]},
            "'a' is not an integer",
        ),
        ({**RELU, "args": [{"tensor": "int8[2]", "range": [5, 1]}]}, "least and the greatest"),
        ({**RELU, "args": [{"tensor": "int8[2]", "strides": [-1]}]}, "is less than 0"),
        (
            {**RELU, "args": [{"dtype": "float32); import os"}]},
            "unknown dtype 'float32);",
        ),
        ({**RELU, "args": [{"device": "cpu'"}]}, 'unknown device "cpu\'"'),
        ({**RELU, "args": [{"pickle": "gASV"}]}, "of the unknown kind 'pickle'"),
        ({**RELU, "args": [{"float": "1); x"}]}, "is not a number"),
        ({**RELU, "count": -1}, "count: -1 is less than 1"),
        ({**RELU, "inside": "x"}, "inside: expected a list"),
        ({"module": "torch.nn.modules.linear.Linear", "init": []}, None),
        ({"module": "torch.nn.modules.linear.Linear", "init": [1]}, "init: expected an object"),
    ],
)
def test_a_broken_line_is_reported_by_its_number(line, said):
    if said is None:
        parse_api(text(line))
        return
    with pytest.raises(BadCapture) as raised:
        parse_api(text(line))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_first_line_says_which_level_a_file_has(tmp_path):
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
    with pytest.raises(BadCapture, match=said):
        parse_api(lines)
