"""A user's own layers and modes: what `ob.layer_pair` and `@ob.grad_sample_mode` register.

A pair becomes two definitions of the suite: the layer under its name, and its counterpart under
that name and `_nn`. A mode becomes no definition of its own: it is added to every layer of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import Label, UserModule
from opbench.define.definition import Axis, Definition, Point
from opbench.define.program import NORMAL, Tensor, integers
from opbench.define.suite import CollectedFile
from opbench.errors import UserError
from opbench.suites.layers.definition import STAGES, LayerDefinition, in_mode
from opbench.suites.layers.names import BATCH_SIZES, LAYERS, MODES, NN
from opbench.suites.layers.shapes import Shaped
from opbench.suites.layers.source import Wrapper


@dataclass(frozen=True)
class OwnLayer(LayerDefinition):
    """One side of a pair."""

    entry: Mapping[str, Any] = field(default_factory=dict)
    side: str = "own"
    user: UserModule | None = None

    def shaped(self, point: Point, batch: int) -> Shaped:
        given = {**self.entry["constants"], **{a: point[a] for a, _ in self.entry["axes"]}}
        side = self.entry[self.side]
        shape = (batch, *(_size(given, part) for part in self.entry["input_shape"]))
        high = self.entry["integers"]
        domain = NORMAL if high is None else integers(0, _size(given, high))
        imports, kind = _imported(side["module"], side["name"])
        return Shaped(
            kind,
            (Tensor("x", shape, "float32" if high is None else "int64", domain),),
            None,
            {name: _value(given[name]) for name in side["takes"]},
            pick=self.entry["outputs"][0 if self.side == "own" else 1][1:],
            features_last=self.entry["features"] == "last",
            imports=imports,
            user=self.user,
        )

    def check_parameters(self) -> None:
        """Whether there are any is not known before the layer is made."""


@dataclass(frozen=True)
class OwnMode(Definition):
    """Carries a mode to where it is added to the layers of the run; has no cases itself."""

    wrapper: Wrapper | None = None

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        return iter(())


def own_definitions(collected: CollectedFile) -> Iterator[Definition]:
    """Of a user's file: its modes, then both sides of each of its pairs."""
    path, found = collected.file.path, collected.content["layers"]
    taken: dict[str, int] = {}
    for entry in (*found["modes"], *found["pairs"]):
        name, line = entry["name"], entry["line"]
        if name in (*MODES, *LAYERS) or name.endswith(NN) or name in taken:
            reason = f"line {taken[name]} has it" if name in taken else "opbench has one"
            raise UserError(f"{path} line {line}: the name {name} is taken, {reason}; use name=")
        taken[name] = line
    for mode in found["modes"]:
        yield OwnMode(
            suite="layers",
            name=mode["name"],
            origin=f"{path} line {mode['line']}",
            wrapper=Wrapper(
                imports=(f"from {mode['module']} import {mode['function']}",),
                constructor=mode["function"],
                options=", batch_first={first}" if mode["batch_first"] else "",
                preload=collected.modules,
                per_sample=mode["per_sample"],
                user=collected.user,
            ),
        )
    for pair in found["pairs"]:
        for side, name in (("counterpart", pair["name"] + NN), ("own", pair["name"])):
            yield OwnLayer(
                suite="layers",
                name=name,
                axes={
                    "layer": Axis((name,), also=tuple(in_mode(name, mode) for mode in MODES)),
                    **{axis: Axis.of(values) for axis, values in pair["axes"]},
                    "mode": Axis(MODES),
                    "batch_size": Axis(BATCH_SIZES, open=True),
                },
                framework="torch",
                stages=STAGES,
                origin=f"{path} line {pair['line']}",
                entry=pair,
                side=side,
                user=collected.user,
            )


def with_own_modes(definitions: Iterable[Definition]) -> list[Definition]:
    """The definitions, each layer with the modes among them."""
    given = list(definitions)
    own = {d.name: d.wrapper for d in given if isinstance(d, OwnMode) and d.wrapper is not None}
    if not own:
        return given
    rest = [d for d in given if not isinstance(d, OwnMode)]
    if not any(isinstance(d, LayerDefinition) for d in rest):
        origin = next(d.origin for d in given if isinstance(d, OwnMode))
        file = origin.rpartition(" line ")[0]
        raise UserError(
            f"{origin}: a mode needs layers to wrap; name the suite too: opbench run layers {file}"
        )
    return [d.with_modes(own) if isinstance(d, LayerDefinition) else d for d in rest]


def _imported(module: str, name: str) -> tuple[tuple[str, ...], str]:
    """How a layer is imported and called: layers of torch.nn by their full name."""
    if module.startswith("torch.nn."):
        return (), f"torch.nn.{name}"
    return (f"from {module} import {name}",), name


def _size(given: Mapping[str, Any], part: Any) -> int:
    return int(given[part] if isinstance(part, str) else part)


def _value(value: Any) -> Any:
    """A tuple travels as a list."""
    return tuple(value) if isinstance(value, list) else value
