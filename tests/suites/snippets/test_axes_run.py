"""The axes of snippets with a real torch: compiled, on a device, in several dtypes."""

from __future__ import annotations

import pytest
from tests.late import needs

import opbench

needs("torch")

DTYPES = """
from opbench.snippets import GroupedSetup, GroupedStmts

mul = GroupedStmts(
    "y = x * x",
    setup=GroupedSetup("x = torch.ones(64, device=device, dtype=dtype)"),
    signature="f(x) -> y",
    device="cpu",
    dtype=("float32", "bfloat16"),
)
"""


def test_device_and_dtype_are_axes_that_the_sources_see(tmp_path):
    (tmp_path / "mine.py").write_text(DTYPES)
    run = opbench.run(tmp_path / "mine.py", save=False, num_runs=1, num_repeats=2)
    assert {case.id: result.outcome_text for case, result in run} == {
        f"mine/mul[language=python,runtime=eager,device=cpu,dtype={dtype}]/forward": "ok"
        for dtype in ("float32", "bfloat16")
    }
    case = next(case for case, _ in run if case.dtype == "bfloat16")
    assert case.device == "cpu"
    assert "dtype = torch.bfloat16" in case.setup


def test_a_dtype_on_the_command_line_and_one_that_does_not_exist(tmp_path, opbench_here):
    (tmp_path / "mine.py").write_text(DTYPES)
    listed = opbench_here("list", "mine.py", "-a", "dtype=float64")
    assert "dtype=float64" in listed.stdout
    wrong = opbench_here("list", "mine.py", "-a", "dtype=float65")
    assert wrong.returncode == 2
    assert "did you mean float64" in wrong.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_compiled_snippet_runs_forward_and_backward(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from opbench.snippets import GroupedSetup, GroupedStmts\n"
        "fused = GroupedStmts('y = (x * w).relu() + 1',\n"
        "    setup=GroupedSetup('x = torch.ones(64)\\nw = torch.ones(64).requires_grad_()'),\n"
        "    signature='f(x, w) -> y', autograd=True, compile=True)\n"
    )
    run = opbench.run(tmp_path / "mine.py", save=False, max_time_per_case=0.2, timeout=300)
    assert {case.id: result.outcome_text for case, result in run} == {
        f"mine/fused[language=python,runtime={runtime}]/{stage}": "ok"
        for runtime in ("eager", "compile")
        for stage in ("forward", "forward_backward")
    }
