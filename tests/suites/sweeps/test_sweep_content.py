"""What a sweep may contain, and the errors for anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.suites.sweeps.content import Config, Sweep, config, configs
from opbench.suites.sweeps.definition import Model, definition_of
from opbench.suites.sweeps.reading import checked

PLAIN = {
    "model": "models.py:Mini",
    "model_init_params": ["hidden", "out"],
    "input_params": [["batch", "hidden"]],
    "input_scales": {"batch": [8, 16], "hidden": [32], "out": [4]},
    "job_configs": [
        {"dtype": "fp32", "runtime": "pt"},
        {"dtype": "fp16", "runtime": "pt"},
        {"dtype": "fp32", "runtime": "ort"},
    ],
}
MINI = Model("models", "Mini", ("hidden", "out"))


def sweep(**changes) -> Sweep:
    return checked({**PLAIN, **changes}, Path("s.toml"))


def cases(model: Model = MINI, changes: dict | None = None, **options):
    return expand([definition_of(sweep(**(changes or {})), model, Path("mini.toml"))], **options)


def test_the_product_of_dims_at_the_configs_that_were_named():
    assert [case.id for case in cases(stages=("forward",))] == [
        "sweep/mini[batch=8,hidden=32,out=4,dtype=fp32,runtime=pt]/forward",
        "sweep/mini[batch=8,hidden=32,out=4,dtype=fp32,runtime=ort]/forward",
        "sweep/mini[batch=8,hidden=32,out=4,dtype=fp16,runtime=pt]/forward",
        "sweep/mini[batch=16,hidden=32,out=4,dtype=fp32,runtime=pt]/forward",
        "sweep/mini[batch=16,hidden=32,out=4,dtype=fp32,runtime=ort]/forward",
        "sweep/mini[batch=16,hidden=32,out=4,dtype=fp16,runtime=pt]/forward",
    ]


def test_forward_and_backward_are_apart_by_default():
    assert {case.stage for case in cases()} == {"forward", "backward"}


def test_what_is_measured_says_on_which_runtime_and_in_which_numbers():
    found = {(c.axes["runtime"], c.axes["dtype"]): (c.runtime, c.dtype) for c in cases()}
    assert found["ort", "fp32"] == ("onnxruntime", "float32")
    assert found["pt", "fp16"] == ("eager", "float16")


def test_onnx_runtime_has_no_backward_and_says_so():
    reasons = {c.unsupported for c in cases(stages=("backward",)) if c.runtime == "onnxruntime"}
    assert reasons == {"ONNX Runtime computes no gradients"}


def test_a_model_is_made_by_the_names_of_its_parameters():
    assert "net = Mini(hidden=32, out=4).to(torch.float32)" in cases()[0].setup


def test_and_by_position_where_its_parameters_are_called_otherwise():
    other = Model("models", "Mini", ("width", "classes"))
    assert "net = Mini(32, 4)" in cases(other)[0].setup


def test_one_dim_may_serve_twice():
    square = {"model_init_params": ["hidden", "hidden"], "input_params": [["batch", "hidden"]],
              "input_scales": {"batch": [8], "hidden": [32]}}  # fmt: skip
    linear = Model("torch.nn", "Linear", ("in_features", "out_features", "bias"))
    assert "net = Linear(32, 32)" in cases(linear, square)[0].setup


def test_whole_numbers_stay_below_a_dim():
    found = cases(changes={
        "input_params": [["batch", 5]],
        "input_values": ["integers:hidden"],
    })  # fmt: skip
    assert "x0 = torch.randint(0, 32, (8, 5), dtype=torch.int64)" in found[0].setup


def test_inputs_take_gradients_only_where_a_stage_goes_backward():
    by_stage = {case.stage: case for case in cases(keep=["runtime=pt"])}
    assert "requires_grad_" not in by_stage["forward"].setup
    assert "requires_grad_" in by_stage["backward"].setup


def test_an_axis_can_be_chosen_on_the_command_line():
    found = cases(axes={"batch": ["64"], "runtime": ["ort"]}, stages=("forward",))
    assert [case.id for case in found] == [
        "sweep/mini[batch=64,hidden=32,out=4,dtype=fp32,runtime=ort]/forward"
    ]


def test_a_runtime_that_no_config_names():
    with pytest.raises(UserError, match="unknown runtime 'compile'"):
        cases(axes={"runtime": ["compile"]})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"dtype": "fp16", "runtime": "ort"}, Config("fp16", "ort")),
        (["bf16", "compile"], Config("bf16", "compile")),
        ("fp16/ort", Config("fp16", "ort")),
        ("ort", Config("fp32", "ort")),
        ({"dtype": "float16"}, Config("fp16", "pt")),
    ],
)
def test_ways_to_write_a_config(written, meant):
    assert config(written) == meant


def test_lists_stand_for_all_their_combinations():
    found = configs({"dtype": ["fp16", "fp32"], "runtime": ["pt", "ort"]})
    assert len(found) == 4
    assert Config("fp16", "ort") in found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"job_configs": ["fp17 pt"]}, "unknown dtype or runtime 'fp17'; did you mean fp1"),
        ({"job_configs": ["fp16 fp32"]}, "expected one dtype, found fp16 and fp32"),
        ({"job_configs": [{"device": "cuda"}]}, "unknown key 'device'; choose from: dtype, run"),
        ({"job_configs": ["pt", "fp32"]}, "expected each config once"),
        ({"input_params": ["batch"]}, "expected a list of lists, one per input"),
        ({"input_params": [["bath"]]}, "'bath' is not in input_scales; did you mean batch"),
        ({"input_params": [["batch"]], "model_init_params": ["out"]}, "nothing uses the dim 'hid"),
        ({"input_scales": {**PLAIN["input_scales"], "batch": [0]}}, "number from 1 up, not 0"),
        ({"input_scales": {**PLAIN["input_scales"], "batch": []}}, "at least one value"),
        ({"input_scales": {**PLAIN["input_scales"], "dtype": [1]}}, "'dtype' is reserved"),
        ({"input_scale": {}}, "unknown key 'input_scale'; did you mean input_scales"),
        ({"input_values": ["whole"]}, "expected normal, uniform, ones or integers:DIM"),
        ({"input_values": ["ones", "ones"]}, "expected one per input (1), found 2"),
        ({"stages": ["call"]}, "a model has forward, backward"),
        ({"output": "y["}, "not valid Python"),
        ({"run": {"threads": 0}}, "greater than or equal to 1"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_one_line(changes, said):
    with pytest.raises(UserError) as caught:
        sweep(**changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
