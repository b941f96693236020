"""Recorded Python calls as definitions: each unique call of a file is a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbench.capture.calls import ApiCall
from opbench.capture.reading import read_api
from opbench.capture.values import tensors_in
from opbench.case import Case
from opbench.define.definition import Context, Definition, Point
from opbench.define.program import lines
from opbench.errors import printable
from opbench.suites.captured.api.source import FLOATS, in_place, output_of, program_of


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
            own = replace(program, setup=lines(program.setup, wanted))
            yield self.case(stage, stage, own, point, context)


def definitions_of(path: Path | str) -> list[Definition]:
    """Every call of the file, in its order."""
    return [definition_of(call, Path(path)) for call in read_api(path)]


def definition_of(call: ApiCall, path: Path) -> Definition:
    return ApiDefinition(
        suite=printable(path.stem),
        name=f"{call.short}-{call.index:03d}",
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
    if not any(tensor.grad for tensor in tensors_in(call.out)):
        return False
    return call.kind == "module" or any(
        tensor.grad and tensor.dtype in FLOATS for tensor in tensors_in(call.given.values)
    )
