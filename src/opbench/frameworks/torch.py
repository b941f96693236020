"""PyTorch, eager."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod

from opbench.define.program import DRAWN, LAYOUT_SIDES, LAYOUTS, Program, Tensor, lines
from opbench.frameworks.framework import Framework

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: Source that imports what `preload` says: half of the import of torch again, so not for everyone.
GOES_BACKWARD = re.compile(r"\b(backward|autograd|grad)\b")
TAKES_COMPILER = re.compile(r"\btorch\.(func|compile|optim|vmap)\b|\b(functorch|optim)\b")

#: What most snippets run through. A backward pass may not run before a fork where it would touch
#: a GPU; without one it starts no thread.
REHEARSAL = """\
import sys
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
x = torch.rand((4, 4))
w = torch.ones((4, 4))
i = torch.arange(4)
for _ in range(2):
    y = x * w + 1.0
    y += w
    y == w
    torch.relu(y)
    torch.mm(x, w)
    y.sum()
    y.clone().copy_(x)
    y.t().contiguous()
    y.view(-1, 1).select(1, 0)
    y[0, 0] = 1
    y[i], y[None, ...]
    torch.zeros((2, 2)).normal_()
if torch.version.cuda is None and "torch.fx.experimental.symbolic_shapes" in sys.modules:
    w.requires_grad_()
    for _ in range(2):
        y = torch.nn.functional.linear(x, w).relu()
        y.backward(torch.ones_like(y))
"""


#: Domains that are neither drawn from a range nor whole numbers.
MADE = {
    "ones": "torch.ones({shape}, {options})",
    "zeros": "torch.zeros({shape}, {options})",
    "signs": "torch.randint(0, 2, {shape}).mul_(2).sub_(1).to({options})",
    "spd": "(lambda a: a @ a.mT / {n} + torch.eye({n}).to(a))(torch.randn({shape}, {options}))",
    "lower": (
        "(lambda a: a.tril(-1) / {n} + torch.diag_embed(1 + torch.rand({shape}[:-1]).to(a)))"
        "(torch.randn({shape}, {options}))"
    ),
    "permutation": "torch.argsort(torch.rand({shape}), -1).to({options})",
    "simplex": "torch.softmax(torch.randn({shape}, {options}), -1)",
}


#: A gradient as large as what it belongs to, and laid out like it.
DRAWN_LIKE = f"""\
def drawn_like(result):
    numbers = torch.randn({DRAWN}, dtype=result.dtype, device=result.device)
    numbers = numbers.repeat(result.numel() // {DRAWN} + 1)[: result.numel()]
    return torch.empty_like(result).copy_(numbers.view(result.shape))
"""


#: A tensor in another layout.
LAID_OUT = {
    "transposed": "{}.mT.contiguous().mT",
    "strided": "(lambda t: torch.stack((t, t), -1)[..., 0])({})",
    "channels_last": "{}.contiguous(memory_format=torch.channels_last)",
}


@dataclass(frozen=True)
class Torch(Framework):
    def seed(self) -> str:
        return "torch.manual_seed(seed)"

    def set_threads(self, threads: int) -> str:
        return f"torch.set_num_threads({threads})"

    def preload(self, stage: str) -> tuple[str, ...]:
        # torch 2.13: the first backward pass imports sympy (0.5 s), the first optimizer, and
        # `torch.func`, the compiler (1.2 s).
        late = {
            "backward": ("torch.fx.experimental.symbolic_shapes",),
            "forward_backward": ("torch.fx.experimental.symbolic_shapes",),
            "step": ("torch.fx.experimental.symbolic_shapes", "torch._dynamo"),
        }
        return ("torch", *late.get(stage, ()))

    def thread_env(self, threads: int) -> dict[str, str]:
        # `set_num_threads` reaches ATen, but not an OpenBLAS with threads of its own: seen on
        # aarch64 wheels, where one "single-threaded" linear kept two threads spinning and took
        # four times as long as with these variables.
        return {name: str(threads) for name in THREAD_VARIABLES}

    def counting_stage(self, source: str) -> str:
        if TAKES_COMPILER.search(source):
            return "step"
        return "forward_backward" if GOES_BACKWARD.search(source) else "forward"

    def rehearsal(self) -> str:
        return REHEARSAL

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        if tensor.dtype.startswith("float8"):
            # Nothing is drawn in so few bits.
            wide = self.tensor(replace(tensor, dtype="float32"), device, False)
            return f"{wide}.to(torch.{tensor.dtype})"
        if tensor.dtype.startswith("complex") and tensor.domain.kind in ("uniform", "integers"):
            # Nor are complex numbers, but for normal ones.
            flat = replace(tensor, dtype="float32", shape=(*tensor.shape, 2))
            text = f"torch.view_as_complex({self.tensor(flat, device, False)})"
            return f"{text}.requires_grad_()" if grad else text
        shape, domain = repr(tuple(tensor.shape)), tensor.domain
        options = self.options(tensor.dtype, device)
        whole = tensor.dtype.startswith(("int", "uint")) or tensor.dtype == "bool"
        if domain.kind in MADE:
            text = MADE[domain.kind].format(
                shape=shape, options=options, n=tensor.shape[-1] if tensor.shape else 1
            )
        elif domain.kind == "file":
            text = (
                f"torch.from_file({domain.path!r}, size={prod(tensor.shape)}, "
                f'dtype=torch.{tensor.dtype}).reshape({shape}).to("{device}", copy=True)'
            )
        elif domain.kind == "integers" or whole:
            low, high = integer_range(tensor, domain.kind == "integers")
            text = f"torch.randint({low}, {high}, {shape}, {options})"
        else:
            repeated = tensor.repeats and device == "cpu"
            number = f"({DRAWN},)" if repeated else shape
            text = f"torch.randn({number}, {options})"
            if domain.kind == "uniform":
                text = f"torch.empty({number}, {options}).uniform_({domain.low}, {domain.high})"
            if repeated:
                elements = prod(tensor.shape)
                times = elements // DRAWN + 1
                text += f".repeat({times})[:{elements}].clone().view({shape})"
        if len(tensor.shape) in LAYOUT_SIDES.get(tensor.layout, ()):
            text = LAID_OUT[tensor.layout].format(text)
        return f"{text}.requires_grad_()" if grad else text

    def options(self, dtype: str, device: str) -> str:
        # Spelled out even where it is the default: the source is read, and torch has a global one.
        where = "" if device == "cpu" else f', device="{device}"'
        return f"dtype=torch.{dtype}{where}"

    def sync(self, device: str) -> str:
        kind, _, index = device.partition(":")
        return f"torch.cuda.synchronize({index})" if kind == "cuda" else ""

    def training(self, stage: str, program: Program) -> tuple[str, str, str]:
        clear = lines(
            f"{program.module}.zero_grad(set_to_none=True)" if program.module else "",
            *(f"{t.name}.grad = None" for t in program.inputs if t.grad),
            f"for leaf in {program.leaves}:\n    leaf.grad = None" if program.leaves else "",
        )
        large = any(each.repeats for each in program.inputs)
        draw = "drawn_like" if large else "torch.randn_like"
        if program.scalar:
            backward, gradient = f"{program.output}.backward()", ""
        elif program.several:
            backward = f"torch.autograd.backward({program.output}, grad)"
            gradient = f"grad = tuple({draw}(part) for part in {program.output})"
        else:
            backward = f"{program.output}.backward(grad)"
            gradient = f"grad = {draw}({program.output})"
        if gradient:
            gradient = lines(DRAWN_LIKE if large else "", program.forward, gradient)
        if stage == "backward":
            # A graph serves one backward pass: build a new one, untimed, before each call.
            return backward, gradient, lines(clear, program.before, program.forward)
        if stage == "forward_backward":
            return lines(clear, program.forward, backward), gradient, program.before
        optimizer = program.optimizer.format(parameters=parameters(program))
        step = lines("opt.zero_grad(set_to_none=True)", program.forward, backward, "opt.step()")
        return step, lines(gradient, f"opt = {optimizer}"), program.before


def integer_range(tensor: Tensor, given: bool) -> tuple[int, int]:
    if given:
        return int(tensor.domain.low), int(tensor.domain.high)
    return (0, 2) if tensor.dtype == "bool" else (0, 100)


def parameters(program: Program) -> str:
    if program.module:
        return f"{program.module}.parameters()"
    return program.leaves or f"[{', '.join(t.name for t in program.inputs if t.grad)}]"


FRAMEWORK = Torch(
    "torch", module="torch", rank=10, devices=("cpu", "cuda"), autograd=True, layouts=LAYOUTS
)
