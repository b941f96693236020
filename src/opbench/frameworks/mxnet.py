"""Apache MXNet 1.9.1: NDArray and Gluon, imperative, in an environment of its own.

MXNet returns before it has computed: a statement ends when all of its results are there.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from opbench.define.program import Program, Source, Tensor, lines
from opbench.frameworks import numpy
from opbench.frameworks.framework import Framework

DTYPES = ("float64", "float32", "float16", "uint8", "int8", "int32", "int64", "bool")

WITH_GRADIENT = """\
def with_gradient(array):
    array.attach_grad()
    return array
"""

#: Builds with a GPU are wheels of another name.
GPU = """\
if not mx.context.num_gpus():
    raise NotImplementedError("this build of MXNet has no GPU")
"""


@dataclass(frozen=True)
class Mxnet(Framework):
    def imports(self) -> str:
        return lines("import mxnet as mx", "import numpy as np", "from mxnet import nd")

    def seed(self) -> str:
        return lines("mx.random.seed(seed)", numpy.FRAMEWORK.seed())

    def thread_env(self, threads: int) -> dict[str, str]:
        # One worker of its engine, so that operators come one after the other, each with as many
        # threads as asked for.
        return {**numpy.FRAMEWORK.thread_env(threads), "MXNET_CPU_WORKER_NTHREADS": "1"}

    def options(self, dtype: str, device: str) -> str:
        where = "" if device == "cpu" else ", ctx=mx.gpu()"
        return f"dtype='{dtype}'{where}"

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        made = numpy.FRAMEWORK.tensor(tensor, "cpu", False)
        array = f"nd.array({made}, {self.options(tensor.dtype, device)})"
        return f"with_gradient({array})" if grad else array

    def sync(self, device: str) -> str:
        return "nd.waitall()"

    def refusal(self, stage: str, program: Program, device: str) -> str:
        if stage == "step":
            return "steps of MXNet's optimizers are not measured here"
        if any(0 in tensor.shape for tensor in program.inputs):
            return "mxnet has no tensors without elements"
        return super().refusal(stage, program, device)

    def caveat(self, dtype: str, result: str, device: str) -> str:
        return "it has no operators on booleans: masks are of floats" if result == "bool" else ""

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source:
        source = super().source(stage, program, device=device, threads=threads)
        helpers = lines(
            GPU if device != "cpu" else "",
            WITH_GRADIENT if "with_gradient(" in source.setup else "",
        )
        # On the CPU each call ends when its result is there, as eager torch's do by themselves.
        stmt = lines(source.stmt, "nd.waitall()") if device == "cpu" else source.stmt
        return replace(source, stmt=stmt, globals=lines(source.globals, helpers))

    def training(self, stage: str, program: Program) -> tuple[str, str, str]:
        forward = recorded(program.forward)
        if program.scalar:
            backward, made = f"{program.output}.backward()", ""
        elif program.several:
            backward = f"mx.autograd.backward({program.output}, grad)"
            made = (
                f"grad = [nd.array({numpy.gradient_like(program, 'part')}, dtype=part.dtype, "
                f"ctx=part.context) for part in {program.output}]"
            )
        else:
            backward = f"{program.output}.backward(grad)"
            made = (
                f"grad = nd.array({numpy.gradient_like(program, program.output)}, "
                f"dtype={program.output}.dtype, ctx={program.output}.context)"
            )
        gradient = lines(forward, made) if made else ""
        if stage == "backward":
            return backward, gradient, lines(program.before, forward)
        return lines(forward, backward), gradient, program.before


def recorded(forward: str) -> str:
    return "with mx.autograd.record():\n" + textwrap.indent(forward, "    ")


FRAMEWORK = Mxnet(
    "mxnet",
    module="mxnet",
    rank=50,
    devices=("cpu", "cuda"),
    autograd=True,
    environment="mxnet",
    dtypes=DTYPES,
    title="MXNet",
    aliases=("mx",),
)
