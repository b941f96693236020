"""The suite `ops`: the operator catalogue in every framework that has the operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.running.recording import Finished


def has_torch(definition: Definition) -> bool:
    operator = getattr(definition, "operator", None)
    return operator is None or "torch" in operator.spelling


class Ops(Suite):
    about = "every operator, forward and backward: torch, JAX, ONNX Runtime, MXNet, NumPy"
    # There are hundreds of operators: enough precision to see a regression, not to dissect one.
    options: ClassVar = {"precision": 0.05, "max_time_per_case": 4.0}

    def definitions(self) -> Iterable[Definition]:
        from opbench.suites.ops.definition import definitions

        return definitions()

    def narrow(self, definitions: list[Definition], options: Any) -> list[Definition]:
        """Without a word on frameworks or operators, what torch does not have is left out: a run
        need not say of each operator of another framework that torch lacks it."""
        if {"framework", "op", "category"} & set(options.axes) or options.shapes:
            return definitions
        return [each for each in definitions if has_torch(each)]

    def tables(self, run: Finished) -> Iterable[RenderableType]:
        from opbench.report.table import grid
        from opbench.suites.ops.results.outcomes import outcome_table

        pairs = [
            (case.framework, result.outcome) for case, result in run.results if case.suite == "ops"
        ]
        return [grid(outcome_table(pairs))] if pairs else []

    def commands(self) -> Iterable[Command]:
        from opbench.suites.ops.command import ops
        from opbench.suites.ops.op_command import op
        from opbench.suites.ops.report_command import ops as report

        yield Command("ops", ops)
        yield Command("op", op)
        yield Command("ops", report, group="report")


SUITE = Ops()
