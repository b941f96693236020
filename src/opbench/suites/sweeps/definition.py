"""A sweep as a definition: dims × configs are its points, forward and backward its stages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opbench.case import Case, Label, UserModule
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import (
    NORMAL,
    ONES,
    Domain,
    Program,
    Tensor,
    integers,
    lines,
    uniform,
)  # fmt: skip
from opbench.define.userfile import alias, import_of
from opbench.suites.sweeps import source
from opbench.suites.sweeps.content import DTYPES, Config, Sweep

SUITE = "sweep"
#: What the runtimes are called in the rest of opbench.
RUNTIME = {"pt": "eager", "ort": "onnxruntime", "compile": "compile"}
VALUES = {"normal": NORMAL, "ones": ONES, "uniform": uniform(0.0, 1.0)}


@dataclass(frozen=True)
class Model:
    """Where the model is imported from, and by which names it takes its arguments."""

    module: str
    name: str
    #: None when that is not known, so that arguments go by position.
    takes: tuple[str, ...] | None
    user: UserModule | None = None
    preload: tuple[str, ...] = ()

    @property
    def known_as(self) -> str:
        name = alias(self.name)
        return f"{name}_" if name in ("model", "session", "binding", "inputs", "outputs") else name

    def constructor(self, names: Sequence[str], point: Point) -> str:
        """The expression that makes it. By name where its parameters are called like the dims:
        the order of `model_init_params` then does not matter."""
        by_name = self.takes is not None and set(names) <= set(self.takes)
        if by_name and len(set(names)) == len(names):
            given = ", ".join(f"{name}={point[name]!r}" for name in names)
        else:
            given = ", ".join(repr(point[name]) for name in names)
        return f"{self.known_as}({given})"


@dataclass(frozen=True)
class SweepDefinition(Definition):
    sweep: Sweep | None = None
    model: Model | None = None

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        """The product of the dims, at those pairs of dtype and runtime that are configs."""
        assert self.sweep is not None
        wanted = set(self.sweep.job_configs)
        for point in super().points(grid):
            if Config(str(point["dtype"]), str(point["runtime"])) in wanted:
                yield point

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        assert self.sweep is not None
        assert self.model is not None
        runtime = str(point["runtime"])
        for stage in self.stages:
            if context.stages and stage not in context.stages:
                continue
            program = program_of(self.sweep, self.model, point, context)
            case = self.case(stage, stage, program, point, context)
            case = replace(case, runtime=RUNTIME[runtime], dtype=DTYPES[str(point["dtype"])])
            if runtime == "ort" and stage != "forward":
                case = replace(case, unsupported="ONNX Runtime computes no gradients")
            yield case


def definition_of(sweep: Sweep, model: Model, path: Path) -> Definition:
    axes = {name: Axis.of(tuple(values)) for name, values in sweep.input_scales.items()}
    axes["dtype"] = Axis(tuple(dict.fromkeys(c.dtype for c in sweep.job_configs)))
    axes["runtime"] = Axis(tuple(dict.fromkeys(c.runtime for c in sweep.job_configs)))
    return SweepDefinition(
        suite=SUITE,
        name=sweep.name or path.stem,
        axes=axes,
        framework="torch",
        modules=("torch",),
        stages=tuple(sweep.stages),
        origin=str(path),
        sweep=sweep,
        model=model,
    )


def program_of(sweep: Sweep, model: Model, point: Point, context: Context) -> Program:
    dtype, runtime = str(point["dtype"]), str(point["runtime"])
    inputs = tensors_of(sweep, point, DTYPES[dtype])
    names = ", ".join(tensor.name for tensor in inputs)
    call = f"({names})"
    constructor = model.constructor(sweep.model_init_params, point)
    setup = source.model(constructor, DTYPES[dtype], context.device, sweep.training)
    globals_ = import_of(model.module, model.name, model.known_as)
    forward = f"y = net{call}"
    preload = ["torch", *model.preload]
    if runtime == "compile":
        globals_ = lines(globals_, source.TENSORS, source.PARITY)
        setup = lines(setup, source.compiled(call, dtype, sweep.training))
        preload += ["torch._dynamo", "torch._inductor.compile_fx"]
    elif runtime == "ort":
        globals_ = lines(
            *(f"import {name}" for name in source.ORT_IMPORTS),
            globals_, source.TENSORS, source.PARITY, source.ORT,
        )  # fmt: skip
        key = key_of(globals_, setup, str(inputs), model.user.digest if model.user else "")
        setup = lines(
            setup,
            source.onnx(f"({names},)", key, context.device, context.threads, dtype, sweep.training),
        )
        forward = "session.run_with_iobinding(binding)"
        preload += ["onnxruntime"]
    return Program(
        forward=forward,
        inputs=inputs,
        globals=globals_,
        setup=setup,
        output=sweep.output,
        module="net",
        preload=tuple(dict.fromkeys(preload)),
        user=model.user,
    )


def key_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def tensors_of(sweep: Sweep, point: Point, dtype: str) -> tuple[Tensor, ...]:
    tensors = []
    for index, dims in enumerate(sweep.input_params):
        shape = tuple(_size(dim, point) for dim in dims)
        limit = sweep.limit_of(index, point)
        domain: Domain
        if limit is not None:
            domain, kind = integers(0, limit), "int64"
        else:
            text = sweep.input_values[index] if sweep.input_values else "normal"
            domain, kind = VALUES[text], dtype
        # A mini-model stands in the middle of a large one: its inputs take gradients too.
        tensors.append(Tensor(f"x{index}", shape, kind, domain, grad=limit is None))
    return tuple(tensors)


def _size(dim: Any, point: Point) -> int:
    return dim if isinstance(dim, int) else int(str(point[dim]))
