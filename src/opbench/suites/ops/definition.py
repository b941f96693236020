"""The definition of one operator of the catalogue: frameworks, sizes and dtypes as axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opbench.case import Case, Label
from opbench.define.definition import Axis, Context, Definition, Point, Spelling
from opbench.define.expand import RESERVED
from opbench.define.program import Domain
from opbench.errors import UserError, unknown
from opbench.suites.ops.catalogue import catalogue, names_of
from opbench.suites.ops.entry import ALL, FRAMEWORKS, SIZES, Operator, Values
from opbench.suites.ops.given import axes_of, check, completed, read, shapes_kept, text_of
from opbench.suites.ops.groups import groups_of
from opbench.suites.ops.needs import unmet
from opbench.suites.ops.programs import has_gradients, program
from opbench.suites.ops.scaling import fitted, shortage

FORWARD, TRAINING = "forward", "forward_backward"
STAGES = (FORWARD, "backward", TRAINING)
FUSED = "fused"

#: Axes that choose operators and label nothing: the name says it already.
CHOOSING = ("op", "category")


@dataclass(frozen=True)
class OperatorDefinition(Definition):
    operator: Operator | None = None
    #: Parameters that replace those of the size class.
    given: tuple[tuple[str, Any], ...] = ()
    #: Domains that replace those of the inputs, and the label for them.
    domains: tuple[tuple[str, Domain], ...] = ()
    initializer: str | None = None

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        # What was given stands last in an id, after what every operator has.
        given = {axis: values for axis, values in grid.items() if axis in self.optional}
        rest = {axis: v for axis, v in grid.items() if axis not in (*CHOOSING, *given)} | given
        alone = list(grid.get("dtype", ())) == [self.entry.default_dtype]
        for point in super().points(rest):
            usual = self.entry.dtype_in(str(point["framework"]))
            yield {**point, "dtype": usual} if alone else point

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        entry = self.entry
        size, dtype = str(point["size"]), str(point["dtype"])
        asked = {name: value for name, value in point.items() if name in self.optional}
        given = read(entry, {**dict(self.given), **asked})
        wanted = entry.values(size, dtype, completed(entry, size, given))
        for stage in context.stages or (self.stage_for(context.framework, size, wanted),):
            if stage not in self.stages:
                continue
            if size != "typical" and size not in entry.sizes:
                reason = f"{entry.name} has no size {size}"
                yield self.unsupported_case(stage, reason, point, context)
                continue
            backward, labels = stage != FORWARD, {**point, **self.labels_given()}
            if given:
                check(entry, size, wanted, context.framework.name, backward)
            # Whoever gives a shape wants that one: it may take all that is free.
            values, scaled = wanted, ""
            if not any(isinstance(value, tuple) for value in given.values()):
                values, scaled = fitted(
                    entry, wanted, device=context.device, threads=context.threads,
                    backward=backward, kept=shapes_kept(entry, given),
                )  # fmt: skip
            reason = shortage(entry, values, context.device, backward) if given else ""
            if reason:
                yield self.unsupported_case(stage, reason, labels, context)
                continue
            labels |= {"scaled": scaled} if scaled else {}
            yield self.case_of(stage, *self.formed(entry, values, point), labels, context)

    def case_of(
        self, stage: str, operator: Operator, values: Values, point: Point, context: Context
    ) -> Case:
        source = program(operator, context.framework, values, context.device, dict(self.domains))
        reason = source.unsupported
        if not reason and stage != FORWARD and not any(each.grad for each in source.inputs):
            reason = self.no_gradient(operator, context.framework.name)
        if reason:
            return self.unsupported_case(stage, reason, point, context)
        return replace(self.case(stage, stage, source, point, context), independent=True)

    def unsupported_case(self, stage: str, reason: str, point: Point, context: Context) -> Case:
        """A case that only says why it cannot run."""
        return Case(
            suite=self.suite,
            name=self.name,
            stage=stage,
            stmt="pass",
            labels=tuple(point.items()),
            framework=context.framework.name,
            device=context.device,
            dtype=str(point["dtype"]),
            threads=context.threads,
            seed=context.seed,
            unsupported=reason,
        )

    @property
    def optional(self) -> list[str]:
        return [name for name, axis in self.axes.items() if axis.optional]

    @property
    def entry(self) -> Operator:
        assert self.operator is not None
        return self.operator

    def stage_for(self, framework: Spelling, size: str, values: Values) -> str:
        """The default stage of these parameters: forward where no gradient can be had of them."""
        stage = self.default_stage(framework, str(values.dtype))
        backward = stage != FORWARD and unmet(self.entry, size, values, framework.name, True)
        return FORWARD if backward else stage

    def default_stage(self, framework: Spelling, dtype: str) -> str:
        """Forward and backward where there is a gradient; forward for fused operators, which matter
        in inference."""
        entry = self.entry
        call = entry.call(framework.name)
        goes_back = entry.differentiable and framework.autograd and not entry.parts
        goes_back = goes_back and has_gradients(dtype)
        return TRAINING if goes_back and (call is None or call.differentiable) else FORWARD

    def no_gradient(self, operator: Operator, framework: str) -> str:
        if operator.differentiable and any(each.grad for each in operator.inputs):
            return f"{operator.name} of {framework} has no gradient in this form"
        return f"{operator.name} has no gradient"

    def labels_given(self) -> dict[str, Label]:
        filled = {} if self.initializer is None else {"initializer": self.initializer}
        return {**{name: text_of(value) for name, value in self.given}, **filled}

    def formed(self, entry: Operator, values: Values, point: Point) -> tuple[Operator, Values]:
        """The operator to run: the entry, or one of the parts of a fused one, at its shapes."""
        form = str(point.get("form") or FUSED)
        if form == FUSED:
            return entry, values
        part = entry.parts[int(form.partition(".")[0]) - 1]
        operator = catalogue()[part.operator]
        return operator, operator.values("typical", values.dtype, part.params(values))


def check_known(definition: Definition, axes: Iterable[str]) -> None:
    """UserError for an axis that the operator lacks: nobody else would use its values."""
    known = (*definition.axes, *RESERVED, "stage")
    for axis in axes:
        if axis not in known:
            raise UserError(f"{definition.name}: {unknown('axis', axis, known)}")


def forms(operator: Operator) -> tuple[str, ...]:
    """`fused`, then the parts by number and name."""
    return (FUSED, *(f"{i}.{part.operator}" for i, part in enumerate(operator.parts, 1)))


def operator_definition(
    operator: Operator,
    given: Mapping[str, Any] | None = None,
    domains: Mapping[str, Domain] | None = None,
    initializer: str | None = None,
) -> OperatorDefinition:
    """`given` replaces parameters of the size class, `domains` those of the inputs, under the label
    `initializer`."""
    # Of an operator on floats every dtype may be asked for, and has its reason where there is none.
    floats = operator.default_dtype == "float32"
    dtypes = tuple(dict.fromkeys((*(ALL if floats else ()), *operator.dtypes)))
    axes = {
        "op": Axis((operator.name,), also=names_of(operator)),
        "category": Axis((operator.category,), also=groups_of(operator)),
        "framework": Axis(("torch",), choices=FRAMEWORKS),
        "size": Axis(("typical",), choices=SIZES),
        "dtype": Axis((operator.default_dtype,), choices=dtypes),
    }
    if operator.parts:
        axes["form"] = Axis(forms(operator))
    axes |= {name: axis for name, axis in axes_of(operator).items() if name not in axes}
    return OperatorDefinition(
        suite="ops",
        name=operator.name,
        axes=axes,
        stages=STAGES,
        operator=operator,
        given=tuple((given or {}).items()),
        domains=tuple((domains or {}).items()),
        initializer=initializer,
    )


def definitions() -> Iterator[OperatorDefinition]:
    for operator in catalogue().values():
        yield operator_definition(operator)
