"""Parameters that a person gives: what they become, and which are refused."""

from __future__ import annotations

import re

import pytest

from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.given import check
from opbench.suites.ops.suite import check_dtypes, having


def case_at(name, **axes):
    (case,) = expand(
        [operator_definition(catalogue()[name])],
        axes={axis: [value] for axis, value in axes.items()},
        stages=["forward"],
    )
    return case


def test_every_parameter_is_an_axis_of_its_own():
    """`size` is that of the class, so no operator may call a parameter so."""
    for operator in catalogue().values():
        axes = operator_definition(operator).axes
        assert [name for name in operator.params if not axes[name].optional] == []


@pytest.mark.parametrize(("given", "written"), [("relu", "'relu'"), ("none", "None")])
def test_an_option_that_is_left_out_by_default_takes_a_word(given, written):
    case = case_at("gluon_Dense", framework="mxnet", activation=given)
    assert f"activation={written})" in case.setup


def test_a_dtype_among_the_options_is_one_of_those_there_are():
    assert "data.to(torch.float64)" in case_at("cast", to="float64").stmt


@pytest.mark.parametrize("given", [3, "3", "3x3"])
def test_one_number_is_that_of_every_side(given):
    case = case_at("Conv2D", size="small", kernel_size=given)
    assert "weight = torch.empty((64, 3, 3, 3)" in case.setup


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("Conv2D", {"kernel_size": "3x3x3"}, "kernel_size takes 2 numbers such as 3x3, not 3x3x3"),
        ("cast", {"to": "float13"}, "unknown to 'float13'; did you mean float"),
        ("Conv2D", {"strides": "0x0"}, "Conv2D: strides=0x0 does not fit: strides is at least 1"),
        ("split", {"num_outputs": 0}, "split: num_outputs=0 .*: num_outputs is at least 1"),
        ("softmax", {"axis": 2}, "axis=2 does not fit data=1024x1024: axes are -2 to 1"),
        ("sum", {"data": "1024"}, "axis=1 does not fit data=1024: axes are -1 to 0"),
    ],
)
def test_settings_that_cannot_be_computed_are_refused(name, given, says):
    with pytest.raises(UserError, match=says):
        case_at(name, **given)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("topk", {"k": 5000}, "k is at most the side of axis 1, 1024"),
        ("sum", {"data": "()"}, r"axis=1 does not fit data=\(\): it has no axes"),
        ("sum", {"axis": "0x-2"}, "axis=0x-2 does not fit data=1024x1024: axes are -2 to 1, each"),
        ("sum", {"axis": "last"}, "axis takes whole numbers such as 1 or 0x2, not 'last'"),
        ("prod", {"axis": "0x1"}, "axis takes a whole number, not '0x1'"),
        ("prod", {"axis": float("inf")}, "axis takes a whole number, not 'inf'"),
        ("lerp", {"weight": "nan"}, "weight takes a finite number, not '?nan'?"),
        ("lerp", {"weight": "-1e999"}, "weight takes a finite number, not '?-inf'?"),
        ("max", {"data": "4x0"}, "data=4x0, axis=1 do not fit: no number can be picked"),
        ("topk", {"data": "4x4"}, "k=8 does not fit data=4x4"),
        ("Conv2D", {"channels": -4}, "channels is at least 1"),
        ("Conv2D", {"kernel_size": 999}, "the image with its padding, 258x258"),
        ("MaxPool2D", {"pool_size": 99999}, "at most as large as the image, 256x256"),
        ("im2col", {"kernel": 99}, "the image with its padding, 66x66"),
        ("concat", {"a": "4x4", "b": "5x4"}, "all sides are equal but for side 1; b=4x4 would"),
        ("concat", {"dim": 5}, "dim=5 does not fit a=1024x1024: axes are -2 to 1"),
        ("stack", {"a": "4x4", "b": "5x4"}, "all sides are equal; b=4x4 would"),
        ("khatri_rao", {"lhs": "3x4", "rhs": "3x5"}, "rhs is n x k; rhs=3x4 would"),
        ("dot", {"lhs": "8x2048x4096"}, "rhs is k x n; lhs=16384x4096 would"),
        ("FullyConnected", {"data": "8"}, "data is m x k, units is n; data=512x512 would"),
        ("gather_nd", {"indices": "3x64"}, "a row for each side; indices=2x64 would"),
        ("scatter_nd", {"indices": "3x64"}, "a row for each side; indices=2x64 would"),
        (
            "BilinearResize2D",
            {"data": "2x3x0x4"},
            "without pixels cannot be enlarged; data=2x3x1x4 would",
        ),
        ("BatchNorm", {"data": "8x4x16"}, "data is n x c x h x w; data="),
        ("linalg_det", {"data": "4x3x5"}, "matrices are square, .*; data=4x3x3 would"),
        ("linalg_gemm", {"data": "3x5"}, "data=3x3 would"),
        ("linalg_gelqf", {"data": "4x3x5"}, "data=4x3x3 would"),
        ("take", {"data": "0x64"}, "indices holds positions from 0 up to 0"),
        ("GroupNorm", {"num_groups": 3}, "divides the channels, 16; num_groups=2 would"),
        ("multi_head_attention", {"heads": 7}, "divides the width, 256; heads=4 would"),
        ("split", {"num_outputs": 2000}, "it is at most the side of axis 1, 1024"),
        ("slice_axis", {"end": 2000}, "0 <= begin < end <= 1024, the side of axis 0"),
        ("slice", {"end": "2000x2000"}, "0 <= begin < end <= 1024x1024"),
        ("glu", {"data": "3x3"}, "its last side is even; data=3x4 would"),
        ("gluon_Dense", {"activation": "foo"}, "unknown activation 'foo'; choose from: relu, "),
        ("gluon_RNN", {"activation": "sigmoid"}, "choose from: relu, tanh"),
        ("take", {"count": -1}, "count is at least 0"),
        ("reshape", {"shape": "3x5"}, "stays 1048576; shape=1048576 would"),
        ("reshape", {"shape": "5x-1", "data": "4x6"}, "stays 24; shape=24 would"),
        ("broadcast_to", {"data": "4x4"}, "does not broadcast to shape=1024x1024"),
        ("broadcast_axis", {"data": "4x4"}, "side 1 is 1; data=4x1 would"),
        ("iadd", {"this": "4", "other": "4x4"}, "in place has the shape of this; other=4 would"),
        ("pixel_shuffle", {"block_size": 0}, "block_size is at least 1"),
        ("pixel_shuffle", {"block_size": 3}, "its square divides the channels, 64"),
        ("space_to_depth", {"block_size": 3}, "height and width; data=8x16x126x126 would"),
        ("swapaxes", {"dim1": 5}, "dim1=5 does not fit data=16x256x256: axes are -3 to 2"),
        ("arange", {"step": 0}, "step must not be 0"),
        ("arange", {"step": -1}, "the result would have the shape -1048576"),
        ("add", {"layout": "channels_last"}, "needs a tensor of 4 sides; .* at most 2 sides"),
        ("relu", {"data": "8", "layout": "transposed"}, "needs a tensor of 2 sides or more"),
    ],
)
def test_values_that_no_framework_takes_are_refused_with_the_rule(name, given, says):
    framework = "mxnet" if name.startswith("gluon") else "torch"
    with pytest.raises(UserError, match=f"^{name}: (.*){says}") as caught:
        case_at(name, framework=framework, **given)
    assert "\n" not in str(caught.value)


def test_no_rule_refuses_what_the_catalogue_has_itself():
    for operator in catalogue().values():
        for size in ("typical", *operator.sizes):
            check(operator, size, operator.values(size))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("take", {"count": 0}),
        ("reshape", {"shape": "-1"}),
        ("reshape", {"shape": "4x-1"}),
        ("concat", {"a": "4x4", "b": "4x6", "c": "4x9"}),
        ("linalg_inverse", {"data": "4x4"}),
        ("relu", {"data": "8", "layout": "strided"}),
        ("Conv2D", {"layout": "channels_last"}),
        ("Conv2D", {"data": "0x3x8x8"}),
        ("GroupNorm", {"num_groups": 16}),
        ("FullyConnected", {"data": "2x3x4", "k": 4}),
        ("transpose", {"data": "2x3x4"}),
    ],
)
def test_what_frameworks_take_is_not_refused(name, given):
    assert not case_at(name, **given).unsupported


def test_the_axis_that_an_operator_makes_may_be_the_last():
    assert "torch.stack((a, b, c), 2)" in case_at("stack", size="small", axis=2).stmt
    assert "unsqueeze(data, 2)" in case_at("expand_dims", size="small", axis=2).stmt


def test_work_counts_every_side_of_a_tensor():
    assert case_at("sum", data="8x16x32", axis=2).work.flops == 8 * 16 * 32
    # One in each place of a 3 by 3 kernel, two apart: 8 · 4 channels, 9 weights, 8 · 8 places.
    fused = case_at("conv_relu", size="small", form="fused", strides="2x2", channels=4)
    assert fused.work.flops == 2 * 8 * 4 * 9 * 8 * 8


def test_a_given_shape_may_take_all_the_memory_that_is_free(monkeypatch):
    """2**31 half floats and as many results: 8 GiB, and as much again to be sure."""
    from opbench.suites.ops import scaling

    given = {"data": "2147483649", "dtype": "float16"}
    monkeypatch.setattr(scaling, "free_memory", lambda: 17.0 * 2**30)
    assert not case_at("identity", **given).unsupported
    monkeypatch.setattr(scaling, "free_memory", lambda: 15.0 * 2**30)
    says = "identity at these parameters needs 16 GiB of memory; 15 GiB is free"
    assert case_at("identity", **given).unsupported == says


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        ([{"memory": 140 * 2**30, "memory_used": 2**30}], ""),
        # Which of them CUDA will number 0 is not known here.
        ([{"memory": 140 * 2**30, "memory_used": 0}, {"memory": 12 * 2**30, "memory_used": None}],
         "12 GiB is free"),
        ([], "16 GiB is what is assumed of a GPU"),
    ],
)  # fmt: skip
def test_on_a_gpu_it_is_the_memory_that_the_driver_reports(monkeypatch, gpus, says):
    from opbench.suites.ops import scaling

    monkeypatch.setattr(scaling, "gpu_facts", lambda: {"gpus": gpus})
    scaling.free_gpu_memory.cache_clear()
    given = {"data": str(2**32), "dtype": "float16"}  # twice 16 GiB
    (case,) = expand(
        [operator_definition(catalogue()["identity"])],
        axes={axis: [value] for axis, value in given.items()},
        stages=["forward"],
        device="cuda",
    )
    scaling.free_gpu_memory.cache_clear()
    needs = "identity at these parameters needs 32 GiB of memory; "
    assert case.unsupported == (needs + says if says else "")


def test_weights_count_where_a_parameter_makes_them_large(monkeypatch):
    """4 · 100,000² recurrent weights in float32 are 149 GiB, twice."""
    from opbench.suites.ops import scaling

    monkeypatch.setattr(scaling, "free_memory", lambda: 24.0 * 2**30)
    case = case_at("LSTM", hidden_size=100_000)
    assert re.search(r"needs \d+ GiB of memory; 24 GiB is free", case.unsupported)
    assert "scaled" not in case.axes


@pytest.mark.parametrize(
    ("name", "given", "scaled"),
    [
        ("dot", {"m": 512, "k": 4096, "n": 28672}, False),
        ("FullyConnected", {"m": 1024, "k": 768, "n": 50257}, False),
        # The batch was not given.
        ("batch_dot", {"m": 1024, "k": 768, "n": 50257}, True),
        ("batch_dot", {"b": 32, "m": 1024, "k": 768, "n": 50257}, False),
    ],
)
def test_a_side_that_was_given_by_name_is_measured(monkeypatch, name, given, scaled):
    from opbench.suites.ops import scaling

    monkeypatch.setattr(scaling, "free_memory", lambda: 2.0**40)
    case = case_at(name, **given)
    assert ("scaled" in case.axes) == scaled
    if not scaled:
        sides = ", ".join(str(given[side]) for side in "bmk" if side in given)
        assert f"(({sides})" in case.setup


def test_whole_numbers_run_forward_without_being_asked():
    stages = {
        dtype: [
            case.stage
            for case in expand([operator_definition(catalogue()["add"])], axes={"dtype": [dtype]})
        ]
        for dtype in ("float32", "int8")
    }
    assert stages == {"float32": ["forward_backward"], "int8": ["forward"]}


def test_an_operator_without_the_parameter_is_refused_by_name_and_left_out_otherwise():
    every = [operator_definition(catalogue()[name]) for name in ("softmax", "relu", "add")]
    assert [each.name for each in having(every, {"axis": [0]})] == ["softmax"]
    assert having(every, {"dtype": ["float64"]}) == every
    with pytest.raises(UserError, match=r"^add: unknown axis 'axis'; choose from: op, "):
        having(every, {"op": ["softmax", "add"], "axis": [0]})


def test_a_dtype_that_no_operator_that_was_named_takes_is_refused():
    every = [operator_definition(catalogue()[name]) for name in ("add", "exp", "logical_and")]
    with pytest.raises(UserError, match=r"^add does not take bool; choose from: float32, .*64$"):
        check_dtypes(every, {"op": ["add"], "dtype": ["int8", "bool"]})
    with pytest.raises(UserError, match=r"^add, exp do not take bool; choose from: "):
        check_dtypes(every, {"op": ["add", "exp"], "dtype": ["bool"]})
    check_dtypes(every, {"op": ["add", "logical_and"], "dtype": ["bool"]})
    check_dtypes(every, {"op": ["exp"], "dtype": ["int8"]})  # unsupported, each with its reason
    check_dtypes(every, {"dtype": ["bool"]})
    check_dtypes(every, {"op": ["add"], "dtype": ["nonsense"]})  # which is said to be unknown


def test_a_form_is_that_of_fused_operators_alone():
    every = [operator_definition(catalogue()[name]) for name in ("add", "conv_relu")]
    assert [each.name for each in having(every, {"form": ["fused"]})] == ["conv_relu"]
    assert having(every, {"layout": ["transposed"]}) == every
    with pytest.raises(UserError, match=r"^add: unknown axis 'form'"):
        having(every, {"op": ["add"], "form": ["fused"]})


@pytest.mark.parametrize(
    ("name", "framework", "given", "says"),
    [
        ("Dropout", "torch", {"p": 2}, "p=2.0 does not fit: it takes 0 <= p <= 1; p=0.5 would"),
        ("BatchNorm", "torch", {"eps": -1}, "it takes eps > 0; eps=1e-05 would"),
        ("reshape", "numpy", {"shape": "0"}, "stays 1048576; shape=1048576 would"),
        (
            "SequenceMask",
            "torch",
            {"data": "5x5"},
            "it takes len.data. == 3; data=128x32x256 would",
        ),
        ("GlobalMaxPool2D", "torch", {"data": "2x3x0x0"}, "it takes min.data.1:.. >= 1; data="),
        (
            "random_randint",
            "numpy",
            {"low": 9, "high": 9},
            "low=9, high=9 do not fit: it takes low",
        ),
        ("unravel_index", "torch", {"shape": "-1x-1"}, "it takes min.shape, default=1. >= 1"),
    ],
)
def test_what_an_entry_needs_is_said_with_values_that_would_fit(name, framework, given, says):
    with pytest.raises(UserError, match=f"^{name}: (.*){says}"):
        case_at(name, framework=framework, **given)


def test_what_only_one_framework_needs_is_refused_there_alone():
    assert not case_at("BatchNorm", framework="jax", eps=0).unsupported
    with pytest.raises(UserError, match="eps > 0"):
        case_at("BatchNorm", framework="torch_compile", eps=0)


def test_what_only_backward_needs_is_measured_forward():
    definition = [operator_definition(catalogue()["cast"])]
    stages = {
        to: [case.stage for case in expand(definition, axes={"to": [to]})]
        for to in ("int8", "float64")
    }
    assert stages == {"int8": ["forward"], "float64": ["forward_backward"]}
    with pytest.raises(UserError, match="to go backward; to=float16 would"):
        expand(definition, axes={"to": ["int8"]}, stages=["forward_backward"])


@pytest.mark.parametrize(("name", "data"), [("pixel_shuffle", "7"), ("attention", "128x64")])
def test_shapes_of_too_few_sides_are_named_with_some_that_fit(name, data):
    says = f"^{name} cannot take data={data}; shapes of as many sides as data=\\d+x\\d+x\\d+x\\d+ "
    with pytest.raises(UserError, match=says):
        case_at(name, data=data)
