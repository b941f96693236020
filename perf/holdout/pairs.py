"""The pairs: different code, identical code, and code that does 2 % more.

Each pair belongs to one half for good: every kind is dealt out in turn, so both halves hold the
same mixture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opbench.case import Case

#: What a statement of an identical or injected pair repeats, and what 2 % more is.
CALLS = 50

SETUP = """\
torch.set_num_threads(1)
torch.manual_seed(seed)
torch.set_grad_enabled(False)"""

#: What statements name, and how it is made: a child makes only what it needs.
MADE = {
    "x": "torch.rand(64, 64) + 0.5",
    "w": "torch.rand(64, 64) + 0.5",
    "z": "torch.rand(128, 128) + 0.5",
    "b": "torch.rand(8, 32, 32)",
    "v": "torch.rand(64)",
    "i": "torch.randint(0, 64, (64,))",
    "text": "torch.rand(4, 16, 64)",
    "linear": "torch.nn.Linear(64, 64)",
    "norm": "torch.nn.LayerNorm(64)",
    "rms": "torch.nn.RMSNorm(64)",
    "conv": "torch.nn.Conv1d(16, 16, 3)",
    "mlp": "torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64))",
    "table": "torch.nn.Embedding(64, 64)",
    "dropout": "torch.nn.Dropout().eval()",
    "identity": "torch.nn.Identity()",
    "numbers": "list(range(100))",
    "words": "[str(n) for n in range(100)]",
}

GLOBALS = """\
import math

import torch
import torch.nn.functional as F


def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found


def joined(words):
    text = ''
    for word in words:
        text += word
    return text"""

#: Kind of work → (base, new) of different code.
DIFFERENT: dict[str, list[tuple[str, str]]] = {
    "elementwise": [
        ("x + w", "x * w"), ("x + w", "x - w"), ("x.exp()", "x.abs().sqrt()"),
        ("x.sigmoid()", "x.tanh()"), ("x.relu()", "x.clamp(min=0)"), ("F.gelu(x)", "F.silu(x)"),
        ("x / w", "x * w.reciprocal()"), ("x * x", "x.pow(2)"),
        ("torch.where(x > w, x, w)", "torch.maximum(x, w)"), ("-x", "x.abs()"),
        ("x + w * w", "torch.addcmul(x, w, w)"), ("x + 0.3 * (w - x)", "torch.lerp(x, w, 0.3)"),
    ],
    "reduction": [
        ("x.sum()", "x.mean()"), ("x.sum(1)", "x.mean(1)"), ("x.amax(1)", "x.max(1)"),
        ("x.argmax(1)", "x.argmin(1)"), ("x.var()", "x.std()"),
        ("x.norm()", "(x * x).sum().sqrt()"), ("x.softmax(1)", "x.log_softmax(1)"),
        ("x.cumsum(1)", "x.cumprod(1)"),
    ],
    "view": [
        ("x.view(32, 128)", "x.t()"), ("x.reshape(-1)", "x.flatten()"), ("x[0]", "x.select(0, 0)"),
        ("x.unsqueeze(0)", "x[None]"), ("v.expand(64, 64)", "torch.broadcast_to(v, (64, 64))"),
        ("b.permute(1, 0, 2)", "b.transpose(0, 1)"),
    ],
    "matmul": [
        ("x @ w", "torch.mm(x, w)"), ("z @ z", "F.linear(z, z)"),
        ("torch.einsum('ij,jk->ik', x, w)", "torch.matmul(x, w)"), ("torch.bmm(b, b)", "b @ b"),
        ("torch.addmm(w, x, w)", "w + x @ w"), ("x @ v", "(x * v).sum(1)"),
    ],
    "layer": [
        ("linear(x)", "F.linear(x, linear.weight, linear.bias)"), ("norm(x)", "rms(x)"),
        ("conv(text)", "mlp(text)"), ("table(i)", "table.weight[i]"),
        ("dropout(x)", "identity(x)"), ("mlp(x)", "linear(F.gelu(linear(x)))"),
    ],
    "python": [
        ("total(numbers)", "sum(numbers)"),
        ("[n * n for n in numbers]", "list(map(lambda n: n * n, numbers))"),
        ("joined(words)", "''.join(words)"), ("sorted(words)", "sorted(words, reverse=True)"),
        ("{n: n for n in numbers}", "dict(zip(numbers, numbers))"),
        ("math.isqrt(4096)", "int(4096 ** 0.5)"),
    ],
}  # fmt: skip

#: What identical and injected pairs repeat.
REPEATED = [
    "x + w", "x.exp()", "x.relu()", "F.gelu(x)", "x.sum()", "x.mean(1)", "x.argmax(1)",
    "x.softmax(1)", "x.t()", "x.view(32, 128)", "x[0]", "b.permute(1, 0, 2)", "x @ w", "x @ v",
    "torch.bmm(b, b)", "linear(x)", "norm(x)", "table(i)", "total(numbers)", "sorted(words)",
]  # fmt: skip

HALVES = ("tune", "judge")


@dataclass(frozen=True)
class Pair:
    #: `different`, `identical` or `injected`.
    question: str
    #: The kind of work, or the statement that is repeated.
    name: str
    base: str
    new: str
    half: str

    def cases(self, number: int) -> tuple[Case, Case]:
        base, new = (
            Case(
                suite="holdout",
                name=self.question,
                stage="call",
                stmt=stmt,
                setup=setup_of(self.base, self.new),
                globals=GLOBALS,
                labels=(("pair", number), ("side", side)),
                framework="torch",
                preload=("torch",),
            )
            for side, stmt in (("base", self.base), ("new", self.new))
        )
        return base, new


def setup_of(*statements: str) -> str:
    """The same for both sides, so that they differ in nothing but the statement."""
    named = {word for stmt in statements for word in re.findall(r"\b\w+\b", stmt)}
    return "\n".join([SETUP, *(f"{name} = {how}" for name, how in MADE.items() if name in named)])


def every_pair() -> list[Pair]:
    found = []
    dealt = 0
    for kind, pairs in DIFFERENT.items():
        for base, new in pairs:
            found.append(Pair("different", kind, base, new, HALVES[dealt % 2]))
            dealt += 1
    for question, calls in (("identical", CALLS), ("injected", CALLS + 1)):
        for number, stmt in enumerate(REPEATED):
            base, new = ("\n".join([stmt] * repeats) for repeats in (CALLS, calls))
            found.append(Pair(question, stmt, base, new, HALVES[number % 2]))
    return found
