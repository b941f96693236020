"""The definition of one layer of the suite: its modes and batch sizes as axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from opbench.case import Case, Label
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.errors import UserError
from opbench.suites.layers import source
from opbench.suites.layers.names import (
    BASELINE,
    BATCH_SIZES,
    CLASSIC,
    HOOKS,
    MODES,
    SECTIONS,
    WRAPPED,
)
from opbench.suites.layers.shapes import Shaped

STEP = "forward_backward"
STAGES = (STEP, "forward", "backward")


@dataclass(frozen=True)
class LayerDefinition(Definition):
    section: Any = None
    warmups: int = 0
    #: Wrappers of users' own modes, by name.
    own_modes: Mapping[str, source.Wrapper] = field(default_factory=dict)

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        """`layer` only chooses, it labels nothing: the name says it already. A name that stands
        for a layer in one mode (`gsm_linear`, `linear@ghost`) has that mode alone."""
        asked = [mode_in(str(name)) for name in grid["layer"]]
        modes = dict.fromkeys(mode for mode in asked if mode)
        if None in asked:
            modes |= dict.fromkeys(map(str, grid["mode"]))
        elif tuple(grid["mode"]) != self.axes["mode"].values:
            modes = {mode: None for mode in modes if mode in grid["mode"]}
        rest = {axis: values for axis, values in grid.items() if axis != "layer"}
        known = self.axes["mode"].valid
        yield from super().points({**rest, "mode": [m for m in known if m in modes]})

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        mode, batch = str(point["mode"]), int(point["batch_size"] or 0)
        layer = self.shaped(point, batch)
        wrapper = self.own_modes.get(mode)
        if wrapper and layer.user and wrapper.user != layer.user:
            raise UserError(f"{self.origin}: {self.name} and the mode {mode} must be in one file")
        for stage in context.stages or (STEP,):
            if stage not in self.stages:
                continue
            if stage != "forward":
                self.check_parameters()
            program = source.program(
                layer,
                mode,
                stage,
                batch=batch,
                device=context.device,
                warmups=self.warmups,
                wrapper=wrapper,
            )
            if layer.dp or (mode != BASELINE and wrapper is None):
                program = replace(program, unsupported=missing_opacus())
            if layer.refused:
                program = replace(program, unsupported=layer.refused)
            yield self.case(stage, "call", program, point, context)

    def shaped(self, point: Point, batch: int) -> Shaped:
        shaped: Shaped = self.section.shaped(self.name, batch)
        return shaped

    def check_parameters(self) -> None:
        if reason := self.section.without_parameters():
            raise UserError(f"{self.origin or 'layers'}: {SECTIONS[self.name]}: {reason}")

    def with_modes(self, own: Mapping[str, source.Wrapper]) -> LayerDefinition:
        """The same with users' own modes as further ones."""
        mode, layer = self.axes["mode"], self.axes["layer"]
        axes = {
            **self.axes,
            "layer": replace(layer, also=(*layer.also, *(in_mode(self.name, m) for m in own))),
            "mode": replace(mode, values=(*mode.values, *own), choices=(*mode.valid, *own)),
        }
        return replace(self, axes=axes, own_modes=own)


def in_mode(layer: str, mode: str) -> str:
    """The name of a layer in one mode, for the axis `layer`."""
    return f"{layer}@{mode}"


def mode_in(name: str) -> str | None:
    """The mode that a name on the axis `layer` stands for; None for all of them."""
    return HOOKS if name.startswith(WRAPPED) else name.partition("@")[2] or None


def missing_opacus() -> str:
    return "" if find_spec("opacus") else "opacus is not installed; pip install opbench[opacus]"


def layer_definition(
    layer: str,
    section: Any,
    *,
    modes: Sequence[str] = MODES,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    warmups: int = 0,
    number: int = 0,
    origin: str = "",
) -> LayerDefinition:
    """`number` distinguishes several sets of sizes of one layer, as the label `config`."""
    names = [layer, *(name for name in (WRAPPED + layer,) if name in CLASSIC)]
    return LayerDefinition(
        suite="layers",
        name=layer,
        axes={
            "layer": Axis(
                (layer,), choices=tuple(names), also=tuple(in_mode(layer, m) for m in MODES)
            ),
            **({"config": Axis((number,))} if number else {}),
            "mode": Axis(tuple(modes), choices=MODES),
            "batch_size": Axis(tuple(batch_sizes), open=True),
        },
        framework="torch",
        stages=STAGES,
        section=section,
        warmups=warmups,
        origin=origin,
    )
