"""What goes in and out of each layer: the table of the classic documentation, line by line."""

from __future__ import annotations

import pytest
from tests.suites.layers.small import case

from opbench.suites.layers.config import published

B = 16

#: (shapes of the inputs, shape of the output) of the published configuration.
PUBLISHED = {
    "linear": ([(B, 512)], (B, 512)),
    "conv": ([(B, 64, 50, 100)], (B, 64, 43, 93)),
    "layernorm": ([(B, 64)], (B, 64)),
    "instancenorm": ([(B, 256, 64)], (B, 256, 64)),
    "groupnorm": ([(B, 256)], (B, 256)),
    "embedding": ([(B,)], (B, 100)),
    "mha": ([(64, B, 100), (128, B, 100), (128, B, 100)], (64, B, 100)),
    "dpmha": ([(64, B, 100), (128, B, 100), (128, B, 100)], (64, B, 100)),
    "rnn": ([(128, B, 100), (1, B, 100)], (128, B, 100)),
    "dpgru": ([(128, B, 100), (1, B, 100)], (128, B, 100)),
    "dplstm": ([(128, B, 100), (1, B, 100), (1, B, 100)], (128, B, 100)),
}


@pytest.mark.parametrize("layer", PUBLISHED)
def test_published_shapes(layer):
    found = published().section(layer).shaped(layer, B)
    inputs, output = PUBLISHED[layer]
    assert [tensor.shape for tensor in found.inputs] == inputs
    assert found.output == output


def test_batch_first_reaches_the_layer_and_the_input():
    attention, recurrent = (case(name, batch_first=True) for name in ("mha", "lstm"))
    assert "batch_first=True" in attention.setup
    assert "x = torch.randn((4, 3, 8)" in attention.setup
    assert "batch_first=True" in recurrent.setup
    assert "x = torch.randn((4, 5, 3)" in recurrent.setup
    assert "h_0 = torch.randn((1, 4, 6)" in recurrent.setup  # as torch has it, batch first or not


def test_what_a_config_leaves_out_is_left_to_torch():
    """A bias default that differs from torch's is what comes of passing every argument."""
    assert "torch.nn.LSTM(input_size=3, hidden_size=6)" in case("lstm").setup
    assert "torch.nn.Linear(in_features=5, out_features=7)" in case("linear").setup


def test_arguments_of_one_recurrent_layer_do_not_reach_the_others():
    given = {"nonlinearity": "relu", "proj_size": 2}
    assert "nonlinearity='relu'" in case("rnn", **given).setup
    assert "proj_size" not in case("rnn", **given).setup
    assert "proj_size=2" in case("dplstm", **given).setup
    assert "nonlinearity" not in case("gru", **given).setup


def test_convolutions_follow_the_rank_of_the_input():
    for shape, kind in (([9], "Conv1d"), ([9, 8], "Conv2d"), ([9, 8, 7], "Conv3d")):
        assert f"torch.nn.{kind}(" in case("conv", input_shape=shape).setup


@pytest.mark.parametrize(
    "more",
    [
        {"stride": 2},
        {"padding": [1, 2], "dilation": [1, 2]},
        {"padding": "same"},
        {"padding": "valid", "kernel_size": [2, 4]},
    ],
)
def test_labels_have_the_shape_of_a_convolution_s_output(more):
    torch = pytest.importorskip("torch")
    from tests.suites.layers.small import run

    names = run(case("conv", **more))
    with torch.no_grad():
        assert names["net"](names["x"]).shape == names["labels"].shape


def test_a_dtype_is_that_of_layer_input_and_labels():
    one = case("lstm", dtype="float64")
    assert one.dtype == "float64"
    assert ".to(torch.float64)" in one.setup
    assert "dtype=torch.float32" not in one.setup


def test_the_source_stands_on_its_own():
    from opbench.report.script import script

    for layer, mode in (("linear", "baseline"), ("dplstm", "ghost"), ("conv", "ew")):
        text = script(case(layer, mode))
        compile(text, layer, "exec")
        assert "import opbench" not in text


def test_warm_ups_are_steps_of_the_set_up():
    from tests.suites.layers.small import CONFIG

    from opbench.define.expand import expand
    from opbench.suites.layers.config import checked
    from opbench.suites.layers.definition import layer_definition

    section = checked({"linear": CONFIG["linear"]}, "test").section("linear")
    definition = layer_definition("linear", section, modes=("baseline",), warmups=3)
    setup = expand([definition], axes={"batch_size": [4]})[0].setup
    assert "for _ in range(3):\n    net.zero_grad" in setup
