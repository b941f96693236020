"""A GPU asked for from the shell: comparisons, the harness's own test, user files with Triton."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.cuda

TRITON = """
import torch
import triton
import triton.language as tl

import opbench as ob


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


def triton_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


ADDS = {"eager": torch.add, "triton": triton_add, "compiled": torch.compile(torch.add)}


def inputs(n, impl, device="cuda"):
    return ADDS[impl], torch.randn(n, device=device), torch.randn(n, device=device)


@ob.bench(inputs=inputs, n=[1 << 16, 1 << 22], impl=list(ADDS), stages=["forward"])
def add(function, x, y):
    return function(x, y)
"""


def exported(opbench, folder):
    done = opbench("export", "last", "--format", "json", cwd=folder)
    return json.loads(done.stdout)


def test_a_triton_kernel_is_measured_like_any_function(opbench, tmp_path):
    pytest.importorskip("triton")
    (tmp_path / "bench_add.py").write_text(TRITON)
    done = opbench(
        "run", "bench_add.py", "--device", "cuda", "--baseline", "impl=eager",
        "--max-time-per-case", "1s", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "vs eager" in done.stdout
    assert done.stdout.count("impl=triton") >= 2


def test_two_sides_on_the_gpu(opbench, tmp_path):
    done = opbench(
        "ab", "ops", "-a", "op=add", "-a", "framework=torch", "--stage", "forward", "--env",
        "current", "--env", "current", "--device", "cuda", "--max-time-per-case", "2s",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "device_time" in done.stdout


def test_the_selftest_on_the_gpu(opbench, tmp_path):
    done = opbench("selftest", "-n", "1", "--device", "cuda", "--time-per-pair", "2s", "--json",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["unmeasured"] == []
