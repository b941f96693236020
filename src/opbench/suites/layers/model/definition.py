"""The definition of a training step of a user's model: its variants on the axis `mode`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opbench.case import Case, UserModule
from opbench.define.collecting import collected
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program
from opbench.define.userfile import import_of, raise_error
from opbench.errors import UserError, unknown
from opbench.suites.layers.definition import missing_opacus
from opbench.suites.layers.model import source
from opbench.suites.layers.model.source import FLAT, PER_LAYER, Variant
from opbench.suites.layers.names import BASELINE, MODES
from opbench.suites.layers.source import FUNCTORCH, LATE, OPACUS
from opbench.suites.layers.stored import MODELS


def variants(modes: Sequence[str]) -> list[Variant]:
    """Each mode with flat clipping, per-layer clipping, and in physical batches."""
    found = []
    for mode in dict.fromkeys((BASELINE, *modes)):
        clippings = (FLAT,) if mode == BASELINE else (FLAT, PER_LAYER)
        found += [Variant(mode, clipping) for clipping in clippings]
        found.append(Variant(mode, split=True))
    return found


@dataclass(frozen=True)
class ModelDefinition(Definition):
    function: str = ""
    import_line: str = ""
    user: UserModule | None = None
    variants: tuple[Variant, ...] = ()

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        batch = int(point["batch_size"] or 0)
        variant = next(each for each in self.variants if each.name == point["mode"])
        program = Program(
            forward=source.step_text(variant),
            globals=source.globals_text(variant, self.import_line),
            setup=source.setup_text(variant, self.function, batch, context.device),
            module="net",
            components=source.COMPONENTS,
            preload=(*LATE, *OPACUS, *FUNCTORCH),
            user=self.user,
        )
        if variant.private:
            program = replace(program, unsupported=missing_opacus())
        yield self.case("step", "call", program, point, context)


def other_than_builder(model: Mapping[str, Any]) -> str:
    """What a name of a file stands for if not for a function of `batch_size`; empty if it does."""
    if model["kind"] != "function":
        return f"the class {model['name']}" if model["kind"] else str(model["name"])
    takes = model["takes"]
    if takes is None or model["open"] or "batch_size" in takes:
        return ""
    return f"a function of {', '.join(takes) or 'nothing'}"


def model_definition(
    target: str, modes: Sequence[str] = (), batch_sizes: Sequence[int] = ()
) -> ModelDefinition:
    """Of `my_model.py:build`, a function of `batch_size` that returns model, inputs and labels."""
    file, colon, function = target.rpartition(":")
    if not colon or not file.endswith(".py") or not function.isidentifier():
        raise UserError(f"--model {target}: write FILE.py:FUNCTION, such as my_model.py:build")
    for mode in modes:
        if mode not in MODES:
            raise UserError(unknown("mode", mode, MODES))
    path = Path(file)
    if not path.is_file():
        raise UserError(f"file not found: {file}")
    content: dict[str, Any] = collected(path, sys.executable, model=function)
    raise_error(content, path)
    model = content["model"]
    if wrong := other_than_builder(model):
        raise UserError(
            f"{target} must be a function of batch_size that returns (model, inputs, labels), not "
            + wrong
        )
    found = tuple(variants(modes or MODES))
    return ModelDefinition(
        suite=MODELS,
        name=f"{path.stem}:{function}",
        axes={
            "mode": Axis(tuple(variant.name for variant in found)),
            "batch_size": Axis(tuple(batch_sizes) or (32,), open=True),
        },
        framework="torch",
        stages=("step",),
        origin=target,
        function=function,
        import_line=import_of(model["module"], function, function),
        user=UserModule(content["module"], content["root"], content["digest"]),
        variants=found,
    )
