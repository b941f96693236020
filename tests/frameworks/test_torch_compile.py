"""Compiled torch: the same numbers as eager, and a compile time of its own."""

from __future__ import annotations

import pytest
from tests.late import needs

needs("torch")


def test_the_set_up_compiles_nothing(cases):
    (case,) = cases("torch_compile", stages=("forward_backward",))
    assert "call = torch.compile(forward, dynamic=False)" in case.setup
    assert "y = forward(a, b)" in case.setup, "the gradient's shape comes from eager torch"
    assert "y = call(a, b)" in case.stmt
    assert case.runtime == "compile"


@pytest.mark.slow
def test_it_agrees_with_eager_torch_and_says_what_compiling_took(cases, measure):
    stages = ("forward", "forward_backward")
    results = measure(
        cases("torch", "torch_compile", stages=stages), ("time", "memory", "compile_time")
    )
    for stage in stages:
        for metric in ("time", "memory", "compile_time"):
            result = results["torch_compile", stage, metric]
            assert result.ok, result.outcome_text
        compiled = results["torch_compile", stage, "compile_time"]
        assert compiled.estimate > 0.05
        assert results["torch", stage, "compile_time"].outcome == "unsupported"
