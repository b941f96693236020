"""A GPU asked for from the shell: comparisons, the harness's own test, user files with Triton."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.cuda

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "gpu_add.py"


def test_a_triton_kernel_is_measured_like_any_function(opbench, tmp_path):
    pytest.importorskip("triton")
    done = opbench(
        "run", EXAMPLE, "--device", "cuda", "--baseline", "impl=eager",
        "--max-time-per-case", "1s", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    tables = [line.split() for line in done.stdout.splitlines() if "eager" in line.split()]
    assert ["host_time", "eager", "triton", "compiled"] in tables
    assert ["device_time", "eager", "triton", "compiled"] in tables


def test_two_sides_on_the_gpu(opbench, tmp_path):
    done = opbench(
        "ab", "ops", "-a", "op=add", "-a", "framework=torch", "--stage", "forward", "--env",
        "current", "--env", "current", "--device", "cuda", "--max-time-per-case", "2s",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "device_time" in done.stdout


def test_the_selftest_on_the_gpu():
    from opbench.api.selftest import selftest

    report = selftest(1, [0.0], seconds=4.0, device="cuda", operators=["add"])
    assert report.unmeasured == []
    assert report.trials[0].row.metric == "device_time"


WHERE = """
import opbench as ob
import torch


@ob.bench(inputs=lambda n: torch.randn(n, n), n=[256])
def stays(x):
    return x @ x


@ob.bench(inputs=lambda n: torch.randn(n, n), n=[256])
def moves(x):
    x = x.cuda()
    return (x @ x).cpu()


@ob.bench(inputs=lambda n: torch.randn(n, n, device="cuda"), n=[256])
def views(x):
    return x.t()
"""


def test_a_number_of_the_gpu_is_of_code_that_uses_it(opbench, tmp_path):
    """One that stays on the host is refused, in every metric; a view has a device time of zero."""
    (tmp_path / "where.py").write_text(WHERE)
    done = opbench("run", "where.py", "--device", "cuda", "--num-runs", "1", cwd=tmp_path)
    alone = opbench("run", "where.py", "--device", "cuda", "--metric", "device_time", cwd=tmp_path)
    for each in (done, alone):
        assert "nothing in it was on cuda" in each.stdout, each.stdout + each.stderr
        assert "1 unsupported" in each.stdout or "2 unsupported" in each.stdout
    assert "moves[n=256]" in done.stdout
    assert "it launches nothing" in alone.stdout + alone.stderr
