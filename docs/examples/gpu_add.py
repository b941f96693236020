"""One addition three ways: eager, a Triton kernel, and compiled.

opbench run docs/examples/gpu_add.py --device cuda --baseline impl=eager
"""

import torch
import triton
import triton.language as tl

import opbench as ob


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


def triton_add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out


ADDS = {"eager": torch.add, "triton": triton_add, "compiled": torch.compile(torch.add)}


def inputs(n, impl, device):
    return ADDS[impl], torch.randn(n, device=device), torch.randn(n, device=device)


@ob.bench(inputs=inputs, n=[1 << 16, 1 << 24], impl=list(ADDS), stages=["forward"])
def add(function, x, y):
    return function(x, y)
