"""From definitions to cases: axes, filters, stages, and what is said about mistakes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.define.definition import Axis, Definition
from opbench.define.expand import expand, parse
from opbench.define.program import Program, Tensor
from opbench.errors import UserError


def define(name: str, *, stages=("forward",), framework="python", **axes) -> Definition:
    def program(point, context):
        return Program(f"{name}({dict(point)})")

    return Definition("s", name, program, axes, framework=framework, stages=stages)


ADD = define("add", n=(64, 1024))
NORM = define("norm", batch=(8,), dtype=Axis(("float32",), choices=("float32", "float64")))
MODES = define("modes", mode=("hooks", "ghost"), fast=(True, False))


def ids(*definitions: Definition, **options) -> list[str]:
    return [case.id for case in expand(definitions, **options)]


def test_the_grid_in_the_order_of_the_definition():
    assert ids(ADD, define("f", a=(1, 2), b=("x", "y"))) == [
        "s/add[n=64]/forward",
        "s/add[n=1024]/forward",
        "s/f[a=1,b=x]/forward",
        "s/f[a=1,b=y]/forward",
        "s/f[a=2,b=x]/forward",
        "s/f[a=2,b=y]/forward",
    ]


def test_given_values_replace_those_of_the_definitions_that_have_the_axis():
    assert ids(ADD, NORM, axes={"n": ["16", "32"]}) == [
        "s/add[n=16]/forward",
        "s/add[n=32]/forward",
        "s/norm[batch=8,dtype=float32]/forward",
    ]


def test_a_closed_axis_takes_what_it_lists_and_filters():
    only = define("only", dtype=("float64",))
    assert ids(NORM, only, MODES, axes={"dtype": ["float32"]}, keep=["norm", "only"]) == [
        "s/norm[batch=8,dtype=float32]/forward"
    ]
    assert ids(MODES, axes={"mode": ["ghost"], "fast": ["false"]}) == [
        "s/modes[mode=ghost,fast=false]/forward"
    ]
    (case,) = expand([NORM], axes={"dtype": ["float64"]})
    assert case.dtype == "float64"


def test_threads_and_device_are_axes_of_everything_and_fields_of_the_case():
    found = expand([ADD], axes={"n": [1], "threads": ["1", "2"]})
    assert [(case.id, case.threads) for case in found] == [
        ("s/add[n=1,threads=1]/forward", 1),
        ("s/add[n=1,threads=2]/forward", 2),
    ]
    plain, four = expand([ADD], axes={"n": [1]})[0], expand([ADD], axes={"n": [1]}, threads=4)[0]
    assert plain.id == four.id
    assert (plain.threads, four.threads) == (1, 4)
    assert plain.hash != four.hash


def test_a_device_the_framework_lacks_is_unsupported_not_an_error():
    (case,) = expand([define("f")], device="cuda")
    assert case.device == "cuda"
    assert case.unsupported == "python has no device cuda"


def test_stages_filter_definitions():
    both = define("both", stages=("forward", "backward"), framework="torch")
    assert ids(both, ADD, stages=["backward"]) == ["s/both/backward"]
    assert ids(both, axes={"stage": ["forward"]}) == ["s/both/forward"]
    assert expand([both], stages=["backward"])[0].unsupported.startswith("nothing in this")


def test_substrings_of_the_id_choose_cases_capitals_or_not():
    assert ids(ADD, NORM, keep=["N=64", "norm["]) == [
        "s/add[n=64]/forward",
        "s/norm[batch=8,dtype=float32]/forward",
    ]


def test_a_framework_may_be_an_axis():
    (case,) = expand([define("f", framework="", x=(1,))])
    assert case.framework == "python"
    axis = {"framework": ("torch", "numpy")}
    definition = Definition("s", "f", lambda p, c: Program("y = x", (Tensor("x", (2,)),)), axis)
    torch, numpy = expand([definition])
    assert "torch.randn((2,)" in torch.setup
    assert "rng.standard_normal((2,))" in numpy.setup
    assert (torch.preload, numpy.preload) == (("torch",), ("numpy",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": {"batc": [1]}}, "unknown axis 'batc'; did you mean batch?"),
        ({"axes": {"zzz": [1]}}, "unknown axis 'zzz'; choose from: n, batch, dtype, mode, fast"),
        ({"axes": {"thread": [1]}}, "did you mean threads?"),
        ({"axes": {"n": []}}, "axis 'n' was given no value; write n=V1,V2"),
        ({"axes": {"n": ["many"]}}, "axis 'n' takes a whole number, not 'many'"),
        ({"axes": {"n": ["16", "1.5"]}}, "axis 'n' takes a whole number, not '1.5'"),
        ({"axes": {"dtype": ["float23"]}}, "unknown dtype 'float23'; did you mean float32"),
        ({"axes": {"mode": ["ew"]}}, "unknown mode 'ew'; choose from: hooks, ghost"),
        ({"axes": {"fast": ["maybe"]}}, "unknown fast 'maybe'; choose from: true, false"),
        ({"axes": {"n": ["16", "16"]}}, "two cases have the id s/add[n=16]/forward"),
        ({"stages": ["forwrd"]}, "unknown stage 'forwrd'; did you mean forward?"),
        ({"stages": ["step"]}, "no benchmark here has stage 'step'; choose from: forward"),
        ({"keep": ["norn["]}, "no case id contains 'norn['; did you mean norm"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"threads": 0}, "threads must be a whole number from 1 up, not '0'"),
        ({"axes": {"threads": ["two"]}}, "threads must be a whole number from 1 up, not 'two'"),
    ],
)
def test_a_mistake_is_one_line_with_the_nearest_name(options, message):
    with pytest.raises(UserError) as caught:
        expand([ADD, NORM, MODES], **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_definitions_of_one_name_are_refused():
    with pytest.raises(UserError, match="two cases have the id"):
        expand([ADD, ADD])


def test_values_that_exclude_each_other_leave_nothing():
    one, two = define("one", a=("x", "y"), b=("p",)), define("two", a=("y",), b=("q",))
    with pytest.raises(UserError, match="no benchmark has all of these"):
        expand([one, two], axes={"a": ["x"], "b": ["q"]})


def test_an_unknown_framework_names_where_it_was_written():
    wrong = "f: framework: unknown framework 'troch'; did you mean torch"
    with pytest.raises(UserError, match=wrong):
        expand([define("f", framework="troch")])


@settings(max_examples=60)
@given(
    st.one_of(
        st.lists(st.integers(), min_size=1),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
        st.lists(st.text(max_size=5), min_size=1),
        st.lists(st.booleans() | st.none(), min_size=1),
    )
)
def test_every_listed_value_is_found_again_from_its_text(values):
    from opbench.case import label_text

    axis = Axis.of(tuple(values))
    for value in values:
        found, parsed = parse(label_text(value), axis)
        assert found
        assert parsed == value
        assert type(parsed) is type(value)
        assert parse(value, axis) == (True, value)


@given(st.integers())
def test_an_open_axis_of_whole_numbers_takes_every_whole_number(number):
    assert parse(str(number), Axis.of((64,))) == (True, number)
    assert parse(number, Axis.of((64,))) == (True, number)
    assert parse(str(number), Axis.of((0.5,))) == (True, float(number))


def test_ten_thousand_cases_expand_at_once():
    # Time of this process, against a generous bound: what counts is that it is not quadratic.
    definition = define("f", framework="torch", n=tuple(range(100)), m=tuple(range(100)))
    began = time.process_time()
    assert len(expand([definition])) == 10_000
    assert time.process_time() - began < 5
