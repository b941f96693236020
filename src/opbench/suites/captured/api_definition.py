"""Recorded Python calls as definitions: each unique call of a file is a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbench.capture.api_file import ApiCall, read
from opbench.case import Case
from opbench.define.definition import Context, Definition, Point
from opbench.define.program import Program
from opbench.suites.captured.api_source import FLOATS, in_place, output_of, program_of


@dataclass(frozen=True)
class ApiDefinition(Definition):
    call: ApiCall | None = None

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        assert self.call is not None
        program = program_of(self.call, context.device)
        for stage in self.stages:
            if context.stages and stage not in context.stages:
                continue
            grads = stage != "forward" and program.leaves and not program.unsupported
            wanted = "for leaf in leaves:\n    leaf.requires_grad_()" if grads else ""
            own = replace(program, setup="\n".join(filter(None, (program.setup, wanted))))
            yield self.case(stage, stage, own, point, context)


def definitions_of(path: Path | str) -> list[Definition]:
    """Every call of the file, in its order."""
    path = Path(path)
    return [definition_of(call, path) for call in read(path)]


def definition_of(call: ApiCall, path: Path) -> Definition:
    return ApiDefinition(
        suite=path.stem,
        name=f"{call.short}-{call.index:03d}",
        program=lambda _point, _context: Program("pass"),
        framework="torch",
        modules=("torch",),
        stages=("forward", "backward") if goes_backward(call) else ("forward",),
        origin=f"{path}: call {call.index}",
        call=call,
    )


def goes_backward(call: ApiCall) -> bool:
    """Whether a backward pass went, or could have gone, through it."""
    if call.kind == "named" or in_place(call) or not output_of(call.out):
        return False
    if not any(found.get("grad") for found in tensors_in(call.out)):
        return False
    given = tensors_in([*call.args, *call.kwargs.values()])
    return call.kind == "module" or any(
        found.get("grad") and found["tensor"].split("[")[0] in FLOATS for found in given
    )


def tensors_in(described: object) -> Iterator[dict]:
    if isinstance(described, dict):
        if "tensor" in described:
            yield described
        for part in described.values():
            yield from tensors_in(part)
    elif isinstance(described, (list, tuple)):
        for part in described:
            yield from tensors_in(part)
