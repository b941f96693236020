"""JAX: the forward statement as one jitted function of its inputs, gradients by `jax.vjp`.

JAX returns before it has computed. On the CPU a statement therefore waits for its result, as eager
torch does without being asked; on a GPU a block of calls ends with one wait, as for torch.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from opbench.define.program import Program, Source, Tensor, lines
from opbench.frameworks import numpy
from opbench.frameworks.framework import PLAIN, Framework, function, others

#: Computed in 32 bits unless JAX is configured otherwise.
WIDE = ("float64", "int64", "uint64")

PLATFORM = """\
jax.config.update("jax_platforms", "{platform}")
try:
    jax.devices()
except Exception as error:
    why = str(error) or type(error).__name__
    raise NotImplementedError("jax has no {platform} here: " + why) from None
"""

#: By default XLA computes on a thread of its own, even with a pool of one: each call then waits to
#: be woken, which on two busy cores varied by more than half of the time of a call.
INLINE = 'jax.config.update("jax_cpu_enable_async_dispatch", False)'

GRADIENT = """\
grad = jax.tree.map(
    lambda part: jnp.asarray({values}, dtype=part.dtype),
    jax.eval_shape(forward, {names}){first},
)
"""

FORWARD_BACKWARD = """\
@jax.jit
def call({given}grad):
    y, pull{beside} = jax.vjp(lambda {taken}: forward({names}), {taken}{aside})
    return y, pull(grad){beside}
y = grads = {unset}None
"""

BACKWARD = """\
y, pull{beside} = jax.jit(
    lambda {names}: jax.vjp(lambda {taken}: forward({names}), {taken}{aside})
)({names})
call = jax.jit(lambda pull, grad: pull(grad))
grads = None
"""


@dataclass(frozen=True)
class Jax(Framework):
    def imports(self) -> str:
        return lines(
            "import jax",
            "import jax.numpy as jnp",
            "import jax.scipy as jsp",
            "import numpy as np",
            "from jax import lax, nn",
        )

    def seed(self) -> str:
        return numpy.FRAMEWORK.seed()

    def thread_env(self, threads: int) -> dict[str, str]:
        # NPROC sets the size of XLA's pools. By default XLA reserves three quarters of a GPU's
        # memory, which two children cannot both have.
        return {"NPROC": str(threads), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

    def preload(self, stage: str) -> tuple[str, ...]:
        return ("jax", "jax.numpy", "jax.scipy")

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        # NumPy has none of these.
        lacking = tensor.dtype.startswith(("bfloat16", "float8"))
        plain = replace(tensor, dtype="float32") if lacking else tensor
        array = numpy.FRAMEWORK.tensor(plain, "cpu", False)
        return f'jnp.asarray({array}, dtype="{tensor.dtype}")'

    def refusal(self, stage: str, program: Program, device: str) -> str:
        reason = super().refusal(stage, program, device)
        if not reason and stage == "step":
            return "jax has no optimizers of its own"
        return reason

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source:
        if stage == "statement":
            platform = PLATFORM.format(platform=device.partition(":")[0])
            written = replace(
                program, forward=waiting(program.forward), globals=lines(platform, program.globals)
            )
            return super().source(stage, written, device=device, threads=threads)
        reason = self.refusal(stage, program, device)
        grad = not reason and stage not in PLAIN
        setup, stmt, waits_for = self.stage(stage if grad else "forward", program)
        wait = f"jax.block_until_ready({waits_for})"
        text = lines(program.forward, program.setup)
        wide = any(t.dtype in WIDE for t in program.inputs) or any(t in text for t in WIDE)
        return Source(
            stmt=lines(stmt, wait) if device == "cpu" else stmt,
            setup=lines(
                self.seed(),
                "key = jax.random.key(seed)" if draws(program) else "",
                *(f"{t.name} = {self.tensor(t, device, False)}" for t in program.inputs),
                program.setup,
                setup,
            ),
            globals=lines(
                self.imports(),
                INLINE if device == "cpu" else "",
                PLATFORM.format(platform=device.partition(":")[0]),
                'jax.config.update("jax_enable_x64", True)' if wide else "",
                program.globals,
            ),
            before=program.before,
            timing_mode="each" if program.before else "repeatable",
            sync="" if device == "cpu" else wait,
            preload=self.preload(stage),
            unsupported=reason,
            inputs=(*(t.name for t in program.inputs), *(("grad",) if grad else ())),
            outputs=() if reason else self.outputs(program, grad),
        )

    def stage(self, stage: str, program: Program) -> tuple[str, str, str]:
        """Set-up, timed statement, and the variable that holds what the statement computes."""
        more = ["key"] * draws(program)
        given = [t.name for t in program.inputs] + more
        names = ", ".join(given)
        taken = ", ".join(t.name for t in program.inputs if t.grad)
        if stage == "forward" and program.user is not None and not given:
            # A function of the user's own, jitted where its author says so. Traced by us it would
            # be compiled with its inputs as constants, and what it returns be lost.
            return "y = None", f"y = {program.forward}", "y"
        beside, unset = (", others", "others = ") if others(program) else ("", "")
        if stage == "forward":
            jit = "@jax.jit\n" if program.compilable else ""
            setup = lines(jit + function("call", program, *more), f"y = {unset}None")
            return setup, f"y{beside} = call({names})", f"(y{beside})" if beside else "y"
        values = "np.ones(part.shape)" if program.scalar else numpy.gradient_like(program, "part")
        setup = lines(
            function("forward", program, *more),
            GRADIENT.format(values=values, names=names, first="[0]" if beside else ""),
            (BACKWARD if stage == "backward" else FORWARD_BACKWARD).format(
                names=names,
                taken=taken,
                given="".join(f"{name}, " for name in given),
                beside=beside,
                unset=unset,
                aside=", has_aux=True" if beside else "",
            ),
        )
        pulled = "grad"
        if conjugated(program):
            pulled, setup = "pulled", lines(setup, "pulled = jax.tree.map(jnp.conj, grad)")
        if stage == "backward":
            return setup, f"grads = call(pull, {pulled})", "grads"
        arguments = ", ".join([*given, pulled])
        return setup, f"y, grads{beside} = call({arguments})", f"(y, grads{beside})"

    def outputs(self, program: Program, grad: bool) -> tuple[tuple[str, str], ...]:
        taken = [t.name for t in program.inputs if t.grad] if grad else []
        result = program.compared or "y"
        gradient = "jnp.conj(grads[{}])" if conjugated(program) else "grads[{}]"
        found = ((f"gradient of {x}", gradient.format(i)) for i, x in enumerate(taken))
        return (("y", result), *found)


def conjugated(program: Program) -> bool:
    """Whether a gradient is the conjugate of what others mean by it: of complex numbers."""
    return any(t.dtype.startswith("complex") for t in program.inputs)


def draws(program: Program) -> bool:
    """Whether it draws random numbers: JAX takes the key as an argument."""
    return bool(re.search(r"\bkey\b", program.forward))


def waiting(statement: str) -> str:
    """The statement, with a wait for the value of its last line: an expression or an assignment."""
    body = ast.parse(statement).body
    last = body[-1] if body else None
    if isinstance(last, ast.Expr):
        return lines(*map(ast.unparse, body[:-1]), f"jax.block_until_ready({ast.unparse(last)})")
    if isinstance(last, (ast.Assign, ast.AugAssign)):
        target = last.targets[0] if isinstance(last, ast.Assign) else last.target
        return lines(statement, f"jax.block_until_ready({ast.unparse(target)})")
    return statement


FRAMEWORK = Jax(
    "jax",
    module="jax",
    rank=30,
    devices=("cpu", "cuda"),
    autograd=True,
    title="JAX",
    aliases=("jnp",),
)
