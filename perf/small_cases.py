"""A hundred small torch cases: twenty-five operators at four sizes."""

from __future__ import annotations

from opbench.case import Case

SETUP = """torch.set_num_threads(1)
torch.manual_seed(seed)
x = torch.rand({n}, {n}) + 0.5
w = torch.rand({n}, {n}) + 0.5
i = torch.randint(0, {n}, ({n},))"""

STATEMENTS = {
    "add": "x + w", "sub": "x - w", "mul": "x * w", "div": "x / w", "neg": "-x",
    "exp": "x.exp()", "log": "x.log()", "sqrt": "x.sqrt()", "abs": "x.abs()", "tanh": "x.tanh()",
    "sigmoid": "x.sigmoid()", "relu": "x.relu()", "sum": "x.sum()", "mean": "x.mean()",
    "max": "x.amax(1)", "argmax": "x.argmax(1)", "softmax": "x.softmax(1)", "matmul": "x @ w",
    "mv": "x @ w[0]", "transpose": "x.t().contiguous()", "view": "x.view(-1)", "index": "x[i]",
    "cat": "torch.cat((x, w))", "where": "torch.where(x > w, x, w)", "clone": "x.clone()",
}  # fmt: skip


def cases(sizes: tuple[int, ...] = (8, 32, 64, 128), statements: int = 25) -> list[Case]:
    return [
        Case(
            suite="perf",
            name=name,
            stage="forward",
            stmt=stmt,
            setup=SETUP.format(n=n),
            globals="import torch",
            labels=(("n", n),),
            framework="torch",
            dtype="float32",
            preload=("torch",),
        )
        for name, stmt in list(STATEMENTS.items())[:statements]
        for n in sizes
    ]
