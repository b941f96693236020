"""Source text for one framework: create a tensor, set threads, run backward, synchronise.

The pieces are assembled into the stages of a case. Each other file of this folder subclasses
`Framework` for what its framework does differently.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from opbench.define.program import Program, Source, Tensor, lines

#: Stages that do not go backward.
PLAIN = ("forward", "call", "statement")


@dataclass(frozen=True)
class Framework:
    name: str
    #: The module to import, and to preload before a worker forks; empty for plain Python.
    module: str = ""
    #: Code that imports two of our frameworks is attributed to the one of lower rank.
    rank: int = 100
    devices: tuple[str, ...] = ("cpu",)
    #: Whether it computes gradients, and so has stages other than forward.
    autograd: bool = False
    #: Its runtime, where a definition does not set one.
    runtime: str = "eager"
    #: The environment it needs, where it cannot share the current one.
    environment: str = ""
    #: The dtypes it supports; empty for all.
    dtypes: tuple[str, ...] = ()
    #: The layouts of `define.program.LAYOUTS` that its tensors may have.
    layouts: tuple[str, ...] = ()
    #: What it is called in prose, where that is not its name.
    title: str = ""
    #: What people call it in code, where that is not its module's name: `np`.
    aliases: tuple[str, ...] = ()

    def imports(self) -> str:
        return f"import {self.module}" if self.module else ""

    def seed(self) -> str:
        """Seeds every generator that inputs are drawn from, with the integer `seed`."""
        raise NotImplementedError

    def set_threads(self, threads: int) -> str:
        """Sets the number of threads in the process; empty where only `thread_env` can."""
        return ""

    def preload(self, stage: str) -> tuple[str, ...]:
        """Modules a worker imports before it forks: the framework, and what a stage imports late,
        which every single child would otherwise import again."""
        return (self.module,) if self.module else ()

    def thread_env(self, threads: int) -> dict[str, str]:
        """Variables a worker needs in its environment before it imports the framework."""
        return {}

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        """An expression that makes the tensor, drawn from its domain."""
        raise NotImplementedError

    def options(self, dtype: str, device: str) -> str:
        """The keywords for dtype and device of a call that creates a tensor."""
        return f"dtype={dtype!r}"

    def counting_stage(self, source: str) -> str:
        """The stage whose modules a worker imports before it counts this source: once counting has
        begun, an import takes many times as long."""
        return "call"

    def rehearsal(self) -> str:
        """Source that runs a few common operators: a worker that counts instructions runs it once,
        and its children find that code already translated."""
        return ""

    def caveat(self, dtype: str, result: str, device: str) -> str:
        """What a reader of times should know of all operators on this dtype, or that give that one;
        empty where they are what they seem."""
        return ""

    def sync(self, device: str) -> str:
        """Waits for the device; empty where calls wait anyway."""
        return ""

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source:
        """The text of one stage. `forward` and `call` are the statement as it was written; a
        `statement` also waits for what it computes where the framework returns earlier. Inputs ask
        for gradients only in the stages that go backward."""
        reason = self.refusal(stage, program, device)
        grad = not reason and stage not in PLAIN
        common = lines(
            # A setup that imports the framework makes its name local to the whole setup, so our
            # own lines above it need the import too.
            self.imports() if imports_again(program.setup, self.imports()) else "",
            self.set_threads(threads),
            self.seed(),
            *(f"{t.name} = {self.tensor(t, device, grad and t.grad)}" for t in program.inputs),
            program.setup,
        )
        if grad:
            stmt, setup, before = self.training(stage, program)
        else:
            stmt, setup, before = program.forward, "", program.before
        return Source(
            stmt=stmt,
            setup=lines(common, setup),
            globals=lines(self.imports(), program.globals),
            before=before,
            timing_mode="each" if before else "repeatable",
            sync=self.sync(device),
            preload=self.preload(stage),
            unsupported=reason,
            inputs=(*(t.name for t in program.inputs), *(("grad",) if grad else ())),
            outputs=() if reason else self.outputs(program, grad),
        )

    def outputs(self, program: Program, grad: bool) -> tuple[tuple[str, str], ...]:
        """What a stage computes, by name: its result, then the gradients."""
        taken = [t.name for t in program.inputs if t.grad] if grad else []
        result = program.compared or program.output
        own = dict(program.gradients)
        return (("y", result), *((f"gradient of {x}", own.get(x, f"{x}.grad")) for x in taken))

    def refusal(self, stage: str, program: Program, device: str) -> str:
        """Why this stage of this program cannot run on this device; empty when it can."""
        if device.split(":")[0] not in self.devices:
            return f"{self.name} has no device {device}"
        for tensor in program.inputs:
            if self.dtypes and tensor.dtype not in self.dtypes:
                return f"{tensor.dtype} is not measured in {self.name}"
            if tensor.layout and tensor.layout not in self.layouts:
                return f"{self.name} has no layout {tensor.layout}"
        if stage in PLAIN:
            return ""
        if not self.autograd:
            return f"{self.name} does not compute gradients"
        if not (program.module or program.leaves or any(t.grad for t in program.inputs)):
            return "nothing in this benchmark requires a gradient"
        return ""

    def training(self, stage: str, program: Program) -> tuple[str, str, str]:
        """Timed statement, additional set-up and untimed `before` of a stage that goes backward."""
        raise NotImplementedError


def function(name: str, program: Program, *more: str) -> str:
    """The forward statement as a function of its inputs and further arguments. It returns the
    output, and the other results in a tuple where there are any."""
    arguments = ", ".join([*(tensor.name for tensor in program.inputs), *more])
    beside = ", ".join(others(program))
    returned = f"{program.output}, ({beside},)" if beside else program.output
    body = textwrap.indent(lines(program.forward, f"return {returned}"), "    ")
    return f"def {name}({arguments}):\n{body}"


def others(program: Program) -> list[str]:
    """What the forward statement computes besides its output: a compiler leaves out what a function
    does not return, and the time would be that of another operator. That is whatever is assigned
    and leads nowhere (positions beside values), and the whole of which the output is a part."""
    if not re.fullmatch(r"\w+", program.output):
        whole = re.match(r"\w+", program.output)
        return [whole.group()] if whole and f"{whole.group()} = " in program.forward else []
    found: list[str] = []
    needed = {program.output}
    for statement in reversed(ast.parse(program.forward).body):
        nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        bound = [n.id for each in targets for n in ast.walk(each) if isinstance(n, ast.Name)]
        found += [name for name in bound if name not in (*needed, *found)]
        needed -= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        needed |= {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    return found


def imports_again(source: str, imports: str) -> bool:
    """Whether `source` binds, by an import of its own, a name that `imports` binds."""
    if "import" not in source:
        return False

    def bound(text: str) -> set[str]:
        return {
            alias.asname or alias.name.split(".")[0]
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }

    return bool(bound(source) & bound(imports))
