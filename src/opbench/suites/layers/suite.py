"""The suite `layers`: what per-sample gradients cost, layer by layer.

Fourteen layers (torch.nn and the DP versions of `opacus.layers`), as they are and wrapped in every
way Opacus has, at six batch sizes: the configuration of arXiv:2109.12298, or any config file of
that format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite, TargetFile, Targets

if TYPE_CHECKING:
    from opbench.report.charts.chart import Chart
    from opbench.report.page.contents import Contents
    from opbench.suites.layers.config import Config


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
        from opbench.suites.layers.names import SECTIONS

        if not set(file.table) & set(SECTIONS.values()):
            return None
        from opbench.suites.layers.config import load

        config = load(file.path)
        clock = {"clock": config.benchmark} if config.benchmark else {}
        definitions = list(configured(config, str(file.path)))
        return Targets(definitions, suggested={**self.options, **clock})

    def charts(self, contents: Contents) -> Mapping[str, Chart]:
        if not any(stored.case.suite == "layers" for stored in contents.results):
            return {}
        from opbench.suites.layers.charts import charts
        from opbench.suites.layers.factors import rows

        return {f"layers_{name}": chart for name, chart in charts(rows(contents.results)).items()}

    def commands(self) -> Iterable[Command]:
        from opbench.suites.layers.command import layers
        from opbench.suites.layers.report_command import layers as report
        from opbench.suites.layers.spaced_command import SpacedCommand

        yield Command("layers", layers, settings={"cls": SpacedCommand})
        yield Command("layers", report, group="report")


def configured(config: Config, origin: str = "") -> Iterator[Definition]:
    """The definitions of a checked config: every layer that has a section in it."""
    from opbench.suites.layers.definition import layer_definition
    from opbench.suites.layers.names import BATCH_SIZES

    for layer in config.layers:
        yield layer_definition(
            layer,
            config.section(layer),
            batch_sizes=config.batch_sizes or BATCH_SIZES,
            warmups=config.num_warmups,
            origin=origin,
        )


SUITE = Layers()
