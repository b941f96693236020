"""The file of a capture: it reads back as written, and a mistake is reported with its line."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opbench.capture.calls import Capture, OperatorCall, Step
from opbench.capture.reading import BadCapture, parse, read
from opbench.capture.values import GroupSpec, TensorSpec, TorchConstant
from opbench.capture.writing import lines, write

HEADER = {"opbench": "capture", "version": 1, "steps": 1, "threads": 1, "device": "cpu"}
ADD = {"call": "aten::add.Tensor", "args": [{"t": "float32[2,3]"}, {"t": "float32[2,3]"}],
       "count": {"forward": 1}}  # fmt: skip
OPTIONAL = ("kwargs", "out", "at", "seconds", "modules", "more_modules")


def text(*contents: object) -> list[str]:
    return [each if isinstance(each, str) else json.dumps(each) for each in contents]


def an_example() -> Capture:
    weight = TensorSpec("float32", (4, 3), (1, 4), values=(-2.5, 2.5, 0.0, 1.0, 0.25))
    index = TensorSpec("int64", (3,), values={"is": [2, 0, 1]})
    mask = TensorSpec("bool", (2, 2), values={"bits": "0110"})
    view = TensorSpec("float32", (2,), offset=4, alias=0)
    calls = (
        OperatorCall(0, "aten::index_add_", "default", (weight, 0, index, view), {"alpha": 1},
             writes=(0,), counts={"optimizer": 2}, seconds={"optimizer": 0.5},
             modules=("layer.0",), more_modules=3, apis=("torch.Tensor.index_add_",)),
        OperatorCall(1, "aten::_to_copy", "default", (mask,),
             {"dtype": TorchConstant("dtype", "float16"),
              "device": TorchConstant("device", "cuda:1"),
              "memory_format": TorchConstant("memory_format", "channels_last")},
             outputs=(TensorSpec("float16", (2, 2)),), counts={"forward": 1, "data": 1},
             at={"batch": ((0, 4), (3, 8))}),
        OperatorCall(2, "aten::foreach", "Lists", ([weight, view], [1.5, math.inf], None),
             counts={"backward": 3}),
        OperatorCall(3, "_c10d_functional::all_reduce", "default",
             (mask, GroupSpec((2, 0, 1), "gloo"), TorchConstant("reduce_op", "AVG")),
             counts={"backward": 1}, awaited_seconds={"backward": 0.25}),
    )  # fmt: skip
    order = (
        Step(1, (0,), (1,), "data"),
        Step(0, (2, 3, 2), (2,), "optimizer"),
        Step(2, (2, 2), (), "backward"),
    )
    return Capture(calls, HEADER, order, {"flex": (2, "no operator")}, "step")


def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path):
    """As root, `-o /dev/null` would otherwise take the null device away from everybody."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(an_example(), pipe)
        got = os.read(reader, 1 << 16).decode().splitlines()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
    assert [json.loads(line) for line in got] == list(lines(an_example()))


def test_what_was_written_is_read_again(tmp_path):
    schemas = {"aten::_to_copy": "_to_copy(Tensor self) -> Tensor"}
    capture = replace(an_example(), schemas=schemas)
    write(capture, tmp_path / "step.jsonl")
    assert read(tmp_path / "step.jsonl") == capture
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step.jsonl"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"call": NaN}', "NaN is not a JSON number"),
        ({"what": 1}, "neither operator, graph, call, order nor skipped"),
        ({**ADD, "call": "os.system"}, "not an operator's name"),
        ({**ADD, "call": "aten::__class__"}, "not an operator's name"),
        ({**ADD, "call": "aten::add.__globals__"}, "not an operator's name"),
        ({**ADD, "call": "aten::add\nimport os"}, "not an operator's name"),
        ({**ADD, "call": "aten::from_file"}, "touches files"),
        ({**ADD, "call": ["aten::add"]}, "not an operator's name"),
        ({**ADD, "args": [{"t": "float33[2]"}]}, "is not a tensor"),
        ({**ADD, "args": [{"t": "float32[2,-1]"}]}, "is not a tensor"),
        ({**ADD, "args": [{"t": "float32[" + "9" * 30 + "]"}]}, "is not an integer"),
        ({**ADD, "args": [{"t": "float32[4611686018427387904,4]"}]}, "larger than any memory"),
        ({**ADD, "args": [{"t": "float32[2]", "s": [1, 1]}]}, "has 2 strides"),
        ({**ADD, "args": [{"t": "float32[2]", "s": [-1]}]}, "less than 0"),
        ({**ADD, "args": [{"t": "float32[2]", "a": 5}]}, "a later one"),
        ({**ADD, "args": [{"t": "float32[2]", "d": "cpu'); import os"}]}, "unknown device"),
        ({**ADD, "args": [{"t": "int64[3]", "v": {"is": [1, 2]}}]}, "2 values for a tensor of 3"),
        ({**ADD, "args": [{"t": "bool[3]", "v": {"bits": "01x"}}]}, "as many 0 and 1"),
        ({**ADD, "args": [{"t": "int64[3]", "v": {"eval": "1"}}]}, "unknown 'eval'"),
        ({**ADD, "args": [{"t": "float32[3]", "v": [1]}]}, "2 to 8 numbers"),
        ({**ADD, "args": [{"t": "float32[3]", "v": {"all": 1}}]}, "values of float32 are a list"),
        ({**ADD, "args": [{"t": "int64[3]", "v": [1, 2]}]}, "values of int64 are an object"),
        ({**ADD, "args": [{"t": "int64[3]", "v": {"lo": 1}}]}, "expected both lo and hi"),
        ({**ADD, "args": [{"dtype": "os"}]}, "unknown dtype"),
        ({**ADD, "args": [{"python": "1"}]}, "unknown kind 'python'"),
        ({**ADD, "args": [{"reduce_op": "__class__"}]}, "unknown reduce_op"),
        ({**ADD, "args": [{"reduce_op": ["SUM"]}]}, "unknown reduce_op"),
        ({**ADD, "args": [{"group": "01", "backend": "gloo"}]}, "group: expected a list"),
        ({**ADD, "args": [{"group": [], "backend": "gloo"}]}, "one or more ranks, each once"),
        ({**ADD, "args": [{"group": [0, 0], "backend": "gloo"}]}, "each once"),
        ({**ADD, "args": [{"group": [0, -1], "backend": "gloo"}]}, "less than 0"),
        ({**ADD, "args": [{"group": [0, True], "backend": "gloo"}]}, "is not an integer"),
        ({**ADD, "args": [{"group": [0], "backend": "gloo; rm"}]}, "unknown backend"),
        ({**ADD, "args": [{"group": [0]}]}, "unknown backend"),
        ({**ADD, "awaited_seconds": {"forward": "1"}}, "is not a number"),
        ({**ADD, "args": [[[[[[1]]]]]]}, "nested too deeply"),
        ({**ADD, "kwargs": {"a b": 1}}, "not the name of an argument"),
        ({**ADD, "count": {"forward": 0}}, "less than 1"),
        ({**ADD, "count": {"sideways": 1}}, "unknown phase"),
        ({"order": "0:0,1>2", "phases": [["forward", 1]]}, "names call 0 of 0"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_hostile_line_is_told_by_its_number(line, said):
    with pytest.raises(BadCapture, match=r"file line 2: ") as error:
        parse(text(HEADER, line, ADD), where="file")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("0:0>1", "reads 2 tensors"),
        ("7:0,1>2", "names call 7"),
        ("9" * 5000 + ":0,1>2", "expected integers"),
        ("0:0,x>2", "is not CALL:READS>MAKES"),
        ("0:0,1>2 0:0,1>2", "has 2 calls, its phases 1"),
    ],
)
def test_an_order_must_fit_its_calls(order, said):
    with pytest.raises(BadCapture, match="line 3: .*" + said):
        parse(text(HEADER, ADD, {"order": order, "phases": [["forward", 1]]}))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"results": []}, "begins with"),
        ({**HEADER, "version": 2}, "version 2"),
        ({**HEADER, "threads": "two"}, "is not an integer"),
        ({**HEADER, "sizes": {"a; b": 1}}, "not a name for an axis"),
        ({**HEADER, "rank": 2, "ranks": 2}, "2 is not one of 2 ranks"),
        ({**HEADER, "rank": "0", "ranks": 2}, "is not an integer"),
        ({**HEADER, "rank": 0}, "ranks: 'None' is not an integer"),
    ],
)
def test_a_file_of_something_else_is_refused(header, said):
    with pytest.raises(BadCapture, match=said):
        parse(text(header, ADD))


def test_an_empty_file_and_one_without_calls(tmp_path):
    for content, said in (("", "is empty"), (json.dumps(HEADER), "holds no call")):
        (tmp_path / "c.jsonl").write_text(content)
        with pytest.raises(BadCapture, match=said):
            read(tmp_path / "c.jsonl")
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadCapture, match="is not text"):
        read(tmp_path / "c.jsonl")
    with pytest.raises(BadCapture, match="No such file"):
        read(tmp_path / "missing.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["t", "s", "v", "a", "o", "d", "dtype", "is", "group"]), inner
        )
    ),
    max_leaves=12,
)


@example(key="args", value=[{"dtype": []}])
@example(key="args", value=[{"layout": {}}])
@given(
    key=st.sampled_from([*ADD, *OPTIONAL]),
    value=JSON,
)
@settings(max_examples=100)
def test_whatever_stands_in_a_line_ends_in_a_capture_or_in_one_line_of_advice(key, value):
    try:
        found = parse(text(HEADER, {**ADD, key: value}))
    except BadCapture as error:
        said = str(error)
    else:
        said = "line 2"
        assert parse(text(*lines(found))).calls == found.calls
    assert "line 2" in said


def test_the_command_line_tells_it_too(opbench_here, tmp_path):
    (tmp_path / "bad.jsonl").write_text("\n".join(text(HEADER, ADD, {**ADD, "call": "no"})))
    for command in ("run", "show"):
        done = opbench_here(command, "bad.jsonl")
        assert done.returncode == 2
        assert "bad.jsonl line 3: 'no' is not an operator's name" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_name_in_a_file_never_becomes_source(tmp_path):
    """Whatever text a file holds, it is only ever a string in the source of a case."""
    from opbench.define.expand import expand
    from opbench.suites.captured.definition import definitions

    evil = "x')\nraise SystemExit('owned')\n('"
    line = {**ADD, "args": [evil, {"t": "float32[2]"}], "modules": [evil], "api": [evil]}
    order = {"order": "0:0>1", "phases": [["forward", 1]]}
    capture = parse(text({**HEADER, "source": evil}, line, order), name=Path("step").stem)
    for case in expand(definitions(capture)):
        for source in (case.setup, case.stmt, case.before, case.globals):
            tree = compile(source, "case", "exec")
            assert "owned" not in tree.co_names
            assert "SystemExit" not in tree.co_names
