"""Small training steps: a few operators forward and backward, on one thread and on two."""

from __future__ import annotations

from typing import Any

from opbench.snippets import GroupedStmts, Setup, parse_stmts

SNIPPETS: dict[str, Any] = {
    "training": {
        "simple": GroupedStmts(
            *parse_stmts("""
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            a0 = torch.relu(x * w0)                  | auto a0 = torch::relu(x * w0);
            z = a0 * w1                              | auto z = a0 * w1;
            """),
            Setup.TRAINING.value,
            signature="f(x, w0, w1) -> z",
            torchscript=True,
            autograd=True,
            num_threads=(1, 2),
        ),
        "ensemble": GroupedStmts(
            *parse_stmts("""
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            a0 = torch.nn.functional.gelu(x * w0)    | auto a0 = torch::gelu(x * w0);
            a1 = torch.prelu(y, w1)                  | auto a1 = torch::prelu(y, w1);
            joined = torch.cat([a0, a1])             | auto joined = torch::cat({a0, a1});
            z = (joined / joined.norm()).dot(w2)     | auto z = (joined / joined.norm()).dot(w2);
            """),
            Setup.TRAINING.value,
            signature="f(x, y, w0, w1, w2) -> z",
            torchscript=True,
            autograd=True,
            num_threads=(1, 2),
        ),
    },
}
