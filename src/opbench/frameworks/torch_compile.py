"""PyTorch through `torch.compile`: the forward statement as one compiled function of its inputs.

Compiling takes seconds and happens in the first call, which no timed block contains; the metric
`compile_time` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from opbench.define.program import LAYOUTS, Program, Source, lines
from opbench.frameworks.framework import function, others
from opbench.frameworks.torch import Torch


@dataclass(frozen=True)
class TorchCompile(Torch):
    def preload(self, stage: str) -> tuple[str, ...]:
        late = ("torch._dynamo", "torch._inductor.compile_fx")
        return tuple(dict.fromkeys((*super().preload(stage), *late)))

    def rehearsal(self) -> str:
        return ""  # the code that runs is not there before the child has compiled it

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source:
        names = [tensor.name for tensor in program.inputs]
        call = lines(
            function("forward", program),
            "call = torch.compile(forward, dynamic=False)",
        )
        compiled = replace(
            program,
            setup=lines(program.setup, call),
            forward=f"y{', others' if others(program) else ''} = call({', '.join(names)})",
            output="y",
        )
        source = super().source(stage, compiled, device=device, threads=threads)
        # The gradient to start from takes the shape of the output, which eager torch knows too:
        # the set-up must not compile, or `compile_time` would come too late.
        eager = compiled.forward.replace("call(", "forward(")
        return replace(source, setup=source.setup.replace(compiled.forward, eager))


FRAMEWORK = TorchCompile(
    "torch_compile",
    module="torch",
    rank=20,
    devices=("cpu", "cuda"),
    autograd=True,
    layouts=LAYOUTS,
    runtime="compile",
)
