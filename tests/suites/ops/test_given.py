"""Parameters that a person gives: what they become, and which are refused."""

from __future__ import annotations

import pytest

from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition


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
        ("Conv2D", {"strides": "0x0"}, "Conv2D: strides must not be 0"),
        ("split", {"num_outputs": 0}, "split: num_outputs must not be 0"),
        ("softmax", {"axis": 2}, "axis=2 does not fit data=1024x1024: axes are -2 to 1"),
        ("sum", {"data": "1024"}, "axis=1 does not fit data=1024: axes are -1 to 0"),
    ],
)
def test_settings_that_cannot_be_computed_are_refused(name, given, says):
    with pytest.raises(UserError, match=says):
        case_at(name, **given)


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
    assert "needs more memory than is free" in case_at("identity", **given).unsupported
