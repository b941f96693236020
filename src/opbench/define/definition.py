"""A definition: what a person writes, before sizes, devices or clocks are chosen.

A definition has axes, and for each point of their grid a `Program`; its stages say which parts
of a training step become cases. It knows nothing of processes, clocks or storage, and
of frameworks only what `Spelling` asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol

from opbench.case import Case, Label, Parity, label_text
from opbench.define.program import Program, Source

Point = Mapping[str, Label]

#: Axes that say who computes, not what.
IMPLEMENTATION = ("framework", "runtime")


@dataclass(frozen=True)
class Axis:
    """The values one axis takes by default, and those it would take when asked."""

    values: tuple[Label, ...]
    #: For a closed axis, every valid value; defaults to `values`.
    choices: tuple[Label, ...] = ()
    #: Valid as well, but not worth listing: other spellings of a choice.
    also: tuple[Label, ...] = ()
    #: An open axis takes values that are not listed. Sizes are open, names and switches are not.
    open: bool = False
    #: An optional axis is there only when it is asked for; `values` then show what it takes.
    optional: bool = False

    @classmethod
    def of(cls, values: Axis | tuple[Label, ...] | list[Label]) -> Axis:
        if isinstance(values, Axis):
            return values
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        return cls(tuple(values), open=numbers)

    @property
    def valid(self) -> tuple[Label, ...]:
        return self.choices or self.values


class Spelling(Protocol):
    """What a definition asks of the framework it runs on; `opbench.frameworks` provides it."""

    @property
    def name(self) -> str: ...

    @property
    def rank(self) -> int: ...

    @property
    def runtime(self) -> str: ...

    @property
    def autograd(self) -> bool: ...

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source: ...

    @property
    def dtypes(self) -> tuple[str, ...]: ...

    def options(self, dtype: str, device: str) -> str: ...

    def caveat(self, dtype: str, result: str, device: str) -> str: ...


@dataclass(frozen=True)
class Context:
    """What is the same for every point of one expansion."""

    framework: Spelling
    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    #: The stages asked for; empty for all that a definition has.
    stages: tuple[str, ...] = ()


def no_program(point: Point, context: Context) -> Program:
    raise NotImplementedError("this definition overrides `cases`")


@dataclass(frozen=True)
class Definition:
    """A named benchmark over a grid of axes.

    `program` makes the source of one point. A definition that is more than one program per point
    (another language, a captured call) is a subclass with its own `cases`, and has none.
    """

    suite: str
    name: str
    program: Callable[[Point, Context], Program] = no_program
    axes: Mapping[str, Axis] = field(default_factory=dict)
    #: Name of the framework; empty to take it from `modules`. An axis `framework` overrides it.
    framework: str = ""
    #: Framework modules that the benchmark is known to import.
    modules: tuple[str, ...] = ()
    stages: tuple[str, ...] = ("forward",)
    runtime: str = "eager"
    #: Where it was written, for messages: `bench_gemm.py line 12`.
    origin: str = ""

    def __post_init__(self) -> None:
        axes = {name: Axis.of(values) for name, values in self.axes.items()}
        object.__setattr__(self, "axes", axes)

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        """Every combination of the values given on each axis."""
        for values in product(*grid.values()):
            yield dict(zip(grid, values))

    def framework_at(self, point: Point) -> Label:
        """The name of the framework at this point; nothing for the definition's own."""
        return point.get("framework")

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        """One case per stage at this point; the labels are the point, in its order."""
        program = self.program(point, context)
        for stage in self.stages:
            if not context.stages or stage in context.stages:
                yield self.case(stage, stage, program, point, context)

    def case(
        self, stage: str, spelled: str, program: Program, point: Point, context: Context
    ) -> Case:
        """The case of one stage, its source as the framework spells the stage `spelled`: `call`
        for a program whose statement is the whole stage already."""
        names = (*(tensor.name for tensor in program.inputs), program.module)
        components = program.components or tuple((name, name) for name in names if name)
        floating = next((t.dtype for t in program.inputs if "float" in t.dtype), "")
        source = context.framework.source(
            spelled, program, device=context.device, threads=context.threads
        )
        return Case(
            suite=self.suite,
            name=self.name,
            stage=stage,
            stmt=source.stmt,
            setup=source.setup,
            globals=source.globals,
            before=source.before,
            timing_mode=source.timing_mode,
            sync=source.sync,
            labels=tuple(point.items()),
            components=components,
            framework=context.framework.name,
            runtime=context.framework.runtime if self.runtime == "eager" else self.runtime,
            device=context.device,
            dtype=str(point.get("dtype") or floating),
            threads=context.threads,
            seed=context.seed,
            preload=tuple(dict.fromkeys((*source.preload, *program.preload))),
            module=program.user,
            unsupported=program.unsupported or source.unsupported,
            parity=self.parity(stage, program, source, point, context) if program.parity else None,
            # Its formula is that of one forward call.
            work=program.work if stage in ("forward", "call") else None,
        )

    def parity(
        self, stage: str, program: Program, source: Source, point: Point, context: Context
    ) -> Parity:
        """Cases that differ in nothing but who computes them must agree."""
        axes = ",".join(f"{k}={label_text(v)}" for k, v in point.items() if k not in IMPLEMENTATION)
        return Parity(
            key=f"{self.suite}/{self.name}[{axes}]/{stage}",
            inputs=source.inputs,
            outputs=source.outputs,
            compare=program.parity,
            tolerance=program.tolerance,
            rank=context.framework.rank,
        )
