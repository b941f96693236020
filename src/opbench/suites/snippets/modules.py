"""nn modules, each forward and backward, eager and TorchScript, in both languages."""

from __future__ import annotations

from typing import Any

from opbench.snippets import GroupedModules, GroupedSetup, GroupedStmts, Setup


def module(python: str, cpp: str, setup: Setup = Setup.TRIVIAL_2D) -> Any:
    return GroupedModules(
        f"model = torch.nn.{python}",
        f"auto model = torch::nn::{cpp};",
        setup=setup.value,
        signature="f(x) -> y",
        torchscript=True,
        autograd=True,
    )


SNIPPETS: dict[str, Any] = {
    "nn": {
        "linear": module("Linear(4, 2)", "Linear(4, 2)"),
        "conv2d": module(
            "Conv2d(4, 4, 1)", "Conv2d(torch::nn::Conv2dOptions(4, 4, 1))", Setup.TRIVIAL_4D
        ),
        "batchnorm2d": module("BatchNorm2d(4)", "BatchNorm2d(4)", Setup.TRIVIAL_4D),
        "layernorm": module("LayerNorm(4)", "LayerNorm(torch::nn::LayerNormOptions({4}))"),
        # No TorchScript: the two languages return its hidden state in different shapes.
        "lstm": GroupedStmts(
            "y = model(x)[0]",
            "auto y = std::get<0>(model->forward(x));",
            GroupedSetup(
                "x = torch.ones((4, 4, 4))\nmodel = torch.nn.LSTM(4, 2)",
                "auto x = torch::ones({4, 4, 4});\nauto model = torch::nn::LSTM(4, 2);",
            ),
            signature="f(model, x) -> y",
            autograd=True,
        ),
    },
}
