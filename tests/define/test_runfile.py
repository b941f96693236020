"""Run files: what they may say, and the one line that says what is wrong with one."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.define.expand import expand
from opbench.define.reading import fraction, imported, seconds
from opbench.define.runfile import Benchmark, Run, RunFile, load
from opbench.errors import UserError

GOOD = """
[run]
suites = ["tour"]
axes = { n = [64, 128] }
baseline = "mode=plain"
metrics = "time"
precision = "1%"
budget = "2min"
threads = 2
seed = 7

[[benchmark]]
name = "sort"
globals = "from bisect import insort"
setup = "values = list(range(n, 0, -1))"
stmt = "sorted(values)"
axes = { n = [10, 1000], mode = ["plain", "fast"] }

[[benchmark]]
name = "mul"
globals = "import torch"
setup = "x = torch.randn(n, requires_grad=True)"
stmt = "y = x * x"
axes.n = 4
stages = ["forward", "backward"]
wrt = ["x"]
"""


def read(tmp_path: Path, text: str, name: str = "mine.toml") -> RunFile:
    path = tmp_path / name
    path.write_text(text)
    return load(path)


def test_a_run_file_gives_options_and_definitions(tmp_path):
    found = read(tmp_path, GOOD)
    assert found.run.model_dump(exclude_unset=True) == {
        "suites": ["tour"],
        "axes": {"n": [64, 128]},
        "baseline": "mode=plain",
        "metrics": ("time",),
        "precision": 0.01,
        "budget": 120.0,
        "threads": 2,
        "seed": 7,
    }
    cases = expand(found.definitions)
    assert [case.id for case in cases] == [
        "mine/sort[n=10,mode=plain]/call",
        "mine/sort[n=10,mode=fast]/call",
        "mine/sort[n=1000,mode=plain]/call",
        "mine/sort[n=1000,mode=fast]/call",
        "mine/mul[n=4]/forward",
        "mine/mul[n=4]/backward",
    ]
    assert cases[0].framework == "python"
    assert "n = 10\nmode = 'plain'\nvalues = " in cases[0].setup
    assert cases[-1].framework == "torch"
    assert cases[-1].timing_mode == "each"
    assert "for leaf in [x]:" in cases[-1].before


def test_json_says_the_same(tmp_path):
    benchmark = {"name": "f", "stmt": "pass", "before": "x = 1", "stage": "forward"}
    found = read(tmp_path, json.dumps({"benchmark": [benchmark]}), "mine.json")
    (case,) = expand(found.definitions)
    assert (case.stage, case.timing_mode, case.before) == ("forward", "each", "x = 1")


MISTAKES = {
    "toml": ("[run\n", "mine.toml line 1: not valid TOML: "),
    "no end": ('[run]\nname = "x', "line 2: not valid TOML"),
    "empty": ("", ": nothing to run: add a [[benchmark]], or suites to [run]"),
    "table": ("[runs]\n", "unknown key 'runs'; did you mean run?"),
    "key": ("[run]\nbugdet = 1\n", "run: unknown key 'bugdet'; did you mean budget?"),
    "benchmark key": (
        "[[benchmark]]\nname='a'\nstmt='pass'\nset_up=''\n",
        "benchmark 'a': unknown key 'set_up'; did you mean setup?",
    ),
    "targets": (
        '[run]\ntargets = ["tour"]\n',
        "run: unknown key 'targets'; suites are named by suites = [\"tour\"], and other files",
    ),
    "far key": ("[run]\nzzz = 1\n", "run: unknown key 'zzz'; choose from: suites, axes"),
    "missing": ("[[benchmark]]\nname = 'a'\n", "benchmark 'a': stmt: required key is missing"),
    "no name": (
        "[[benchmark]]\nname='a'\nstmt='pass'\n[[benchmark]]\nstmt='pass'\n",
        "mine.toml: benchmark 2: name: required key is missing",
    ),
    "name": (
        "[[benchmark]]\nname='a b'\nstmt='pass'\n",
        "mine.toml: benchmark 'a b': name: expected a name without spaces",
    ),
    "value": (
        "[[benchmark]]\nname='a'\nstmt='pass'\n[[benchmark]]\nname='b'\nstmt='pass'\n"
        "axes.n = [1, {}]\n",
        "benchmark 'b': axes.n: expected text, finite numbers or true/false, found {}",
    ),
    "nan": (
        "[[benchmark]]\nname='a'\nstmt='pass'\naxes.n = [nan]\n",
        "benchmark 'a': axes.n: expected text, finite numbers or true/false, found nan",
    ),
    "axis": (
        "[[benchmark]]\nname='a'\nstmt='pass'\naxes.class = [1]\n",
        "expected the name of a variable, found 'class'",
    ),
    "source": (
        "[[benchmark]]\nname='a'\nstmt='x ='\n",
        "benchmark 'a': stmt: not valid Python, line 1: invalid syntax",
    ),
    "stage": (
        "[[benchmark]]\nname='a'\nstmt='pass'\nstage='foward'\n",
        "benchmark 'a': stage: unknown stage 'foward'; did you mean forward?",
    ),
    "backward": (
        "[[benchmark]]\nname='a'\nstmt='pass'\nstage='backward'\n",
        "benchmark 'a': stage backward needs wrt (names of tensors) or module",
    ),
    "twice": (
        "[[benchmark]]\nname='a'\nstmt='pass'\n[[benchmark]]\nname='a'\nstmt='pass'\n",
        "two benchmarks are called a",
    ),
    "threads": (
        "[run]\nthreads = 0\n",
        "run.threads: expected greater than or equal to 1, found 0",
    ),
    "text": ("[run]\nthreads = 'two'\n", "run.threads: expected a valid integer, found 'two'"),
    "precision": ("[run]\nprecision = '200%'\n", "expected a percentage such as '1%' or 0.01"),
    "budget": ("[run]\nbudget = 'soon'\n", "expected a time such as '60s' or '2min', found 'soon'"),
    "not a list": ("benchmark = 3\n", "benchmark: expected a valid list, found 3"),
    "several": ("[run]\nthreads = 0\nnum_runs = 0\n", "(and 1 more)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_file_is_one_line_naming_the_place(tmp_path, mistake):
    text, expected = MISTAKES[mistake]
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert expected in message
    assert message.startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"run": {\n"seed": }}', "mine.json line 2, column 9: not valid JSON: Expecting value"),
        ('{"run": {"seed": 1, "seed": 2}}', "key 'seed' is given twice in one table"),
        ('{"run": {"seed": NaN}}', "NaN is not a value opbench can use"),
        ("[1]", ": expected an object, found [1]"),
        ("[" * 100_000, "too deeply nested"),
    ],
)
def test_broken_json_too(tmp_path, text, expected):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, "mine.json")
    assert expected in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="file not found"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not text in UTF-8"):
        load(tmp_path / "binary.toml")


scalars = st.one_of(
    st.text(max_size=8), st.integers(-(2**62), 2**62), st.booleans(), st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
names = st.text(string.ascii_letters, min_size=1, max_size=8)
identifiers = names.map(lambda name: f"a_{name}")
axes = st.dictionaries(
    identifiers,
    st.lists(scalars, min_size=1, max_size=3, unique_by=lambda v: (type(v), v)),
    max_size=2,
)
quiet = settings(max_examples=40)


@quiet
@given(st.lists(st.tuples(names, axes), min_size=1, max_size=3, unique_by=lambda p: p[0]))
def test_every_valid_file_reads_back_what_was_written(tmp_path, entries):
    content = {"benchmark": [{"name": n, "stmt": "pass", "axes": a} for n, a in entries]}
    found = read(tmp_path, json.dumps(content), "mine.json")
    assert [definition.name for definition in found.definitions] == [name for name, _ in entries]
    for definition, (_, expected) in zip(found.definitions, entries):
        assert {n: list(axis.values) for n, axis in definition.axes.items()} == expected
    for definition in found.definitions:
        for case in expand([definition]):
            names: dict = {"seed": 0}
            exec(case.globals + "\n" + case.setup, names)  # the axes arrive as they were
            assert {axis: names[axis] for axis, _ in case.labels} == dict(case.labels)


json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.sampled_from(sorted({*Run.model_fields, *Benchmark.model_fields, "other"}))
tables = st.dictionaries(keys, json_values, max_size=4)


@quiet
@given(st.fixed_dictionaries({}, optional={"run": tables | scalars, "benchmark": st.lists(tables)}))
def test_any_other_file_is_read_or_refused_in_one_line(tmp_path, content):
    message = ""
    try:
        read(tmp_path, json.dumps(content), "mine.json")
    except UserError as error:
        message = str(error)
    assert "\n" not in message
    assert not message or message.startswith(str(tmp_path))


@given(st.floats(0.001, 99.9))
def test_a_precision_may_be_a_share_or_a_percentage(percent):
    assert fraction(f"{percent:f}%") == pytest.approx(percent / 100, rel=1e-3, abs=1e-8)
    assert fraction(percent / 100) == percent / 100


def test_times_have_units():
    assert [seconds(v) for v in (60, "60", "60s", "1min", "500ms", "2h")] == [
        60, 60, 60, 60, 0.5, 7200,
    ]  # fmt: skip
    for wrong in ("", "s", "1 parsec", "-1s", "1..2s", 0, True, None, [], "0s"):
        with pytest.raises(ValueError):
            seconds(wrong)


def test_imports_are_found_without_running_anything():
    source = "import torch.nn as nn, os\nfrom numpy import array\nfrom . import x"
    assert imported(source, "import jax") == ("torch", "os", "numpy", "jax")


def test_a_table_of_points_is_found_beside_the_file_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("m,n,k\n8,6,4\n", encoding="utf-8")
    file = tmp_path / "gemm.toml"
    file.write_text('[run]\nsuites = ["ops"]\nshapes = "mine.csv"\n', encoding="utf-8")
    monkeypatch.chdir("/")
    assert load(file).run.shapes == ({"m": "8", "n": "6", "k": "4"},)
    file.write_text('[run]\nsuites = ["ops"]\nshapes = "other.csv"\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"run\.shapes: file not found: other\.csv"):
        load(file)
