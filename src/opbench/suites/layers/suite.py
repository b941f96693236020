"""The suite `layers`: what per-sample gradients cost, layer by layer.

Layers of torch.nn and their DP versions of `opacus.layers`, as they are and wrapped in every way
Opacus has, at six batch sizes: the configuration of arXiv:2109.12298, or any config file of that
format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import CollectedFile, Command, Suite, TargetFile, Targets
from opbench.suites.layers.stored import MODELS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.case import Case
    from opbench.report.charts.chart import Chart
    from opbench.report.page.contents import Contents
    from opbench.running.recording import Finished
    from opbench.suites.layers.config.model import Config


class Layers(Suite):
    about = "what per-sample gradients cost: torch.nn layers against Opacus, time and memory"
    # One step of a large convolution takes minutes on a CPU.
    options: ClassVar = {
        "baseline": "mode=baseline",
        "metrics": ("time", "memory"),
        "timeout": 900.0,
    }

    def definitions(self) -> Iterable[Definition]:
        from opbench.suites.layers.config import published

        return configured(published())

    def read_file(self, file: TargetFile) -> Targets | None:
        if not file.table:
            return None
        from opbench.suites.layers.config import is_config, load, resembles_config

        if not is_config(file.table) and not resembles_config(file.table):
            return None
        config = load(file.path)
        definitions = list(configured(config, str(file.path)))
        return Targets(definitions, suggested={**self.options, **config.settings.options()})

    def read_module(self, collected: CollectedFile) -> Targets | None:
        found = collected.content.get("layers") or {}
        if not found.get("pairs") and not found.get("modes"):
            return None
        from opbench.suites.layers.own import own_definitions

        return Targets(list(own_definitions(collected)), suggested=dict(self.options))

    def narrow(self, definitions: list[Definition], options: Any) -> list[Definition]:
        if not any(definition.suite == "layers" for definition in definitions):
            return definitions
        from opbench.suites.layers.own import with_own_modes

        return with_own_modes(definitions)

    def family(self, case: Case, axis: str) -> str | None:
        """The layer of torch.nn, for what stands in for it too: their ratio is what the suite is
        for."""
        if case.suite != "layers" or axis != "mode":
            return None
        from opbench.suites.layers.names import counterpart

        return counterpart(case.name)

    def tables(self, run: Finished) -> Iterable[RenderableType]:
        """The factors over torch.nn, of the layers that stand in for another; the steps of models,
        taken apart."""
        if any(case.suite == MODELS for case, _ in run.results):
            from opbench.suites.layers.model.report import printed

            return printed(run.results)
        if not any(case.suite == "layers" for case, _ in run.results):
            return ()
        from rich.text import Text

        from opbench.report.table import grid
        from opbench.store.records import StoredResult
        from opbench.suites.layers.factors import rows
        from opbench.suites.layers.report import over_counterpart

        found = rows(StoredResult(run.id, case, result) for case, result in run.results)
        steps = [row for row in found if row.stage == "forward_backward"] or found
        return [
            part
            for table in over_counterpart(steps)
            for part in (Text(f"\n{table.title}", style="bold"), grid(table))
        ]

    def shows(self, case: Case) -> bool:
        return case.suite == MODELS

    def charts(self, contents: Contents) -> Mapping[str, Chart]:
        if not any(stored.case.suite == "layers" for stored in contents.results):
            return {}
        from opbench.suites.layers.charts import charts
        from opbench.suites.layers.factors import rows
        from opbench.suites.layers.factors_published import published

        drawn = charts(rows(contents.results), published())
        return {f"layers_{name}": chart for name, chart in drawn.items()}

    def commands(self) -> Iterable[Command]:
        from opbench.suites.layers.command import layers
        from opbench.suites.layers.report_command import layers as report
        from opbench.suites.layers.spaced_command import SpacedCommand

        yield Command("layers", layers, settings={"cls": SpacedCommand})
        yield Command("layers", report, group="report")


def configured(config: Config, origin: str = "") -> Iterator[Definition]:
    """The definitions of a checked config: every layer that has a section in it."""
    from opbench.suites.layers.definition import layer_definition

    for entry in config.entries:
        yield layer_definition(
            entry.layer,
            entry.section,
            modes=entry.modes,
            batch_sizes=entry.batch_sizes,
            warmups=config.settings.num_warmups,
            number=entry.number,
            origin=origin,
        )


SUITE = Layers()
