"""Sweeps: files that vary the inputs, dtypes and runtimes of a small model (`docs/sweeps.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opbench.define.suite import CollectedFile, Command, Suite, TargetFile, Targets

if TYPE_CHECKING:
    from opbench.running.recording import Finished

#: A file with one of these at its top level is a sweep.
KEYS = {"model", "model_init_params", "input_params", "input_scales", "job_configs"}
#: Kernel statistics with the time. A first compilation takes minutes on a busy machine, and is no
#: hang.
OPTIONS = {"metrics": ("time", "kernels"), "timeout": 300.0}


class Sweeps(Suite):
    def read_file(self, file: TargetFile) -> Targets | None:
        if file.path.suffix not in (".toml", ".json") or not KEYS & set(file.table):
            return None
        from opbench.define.targets import options_of
        from opbench.suites.sweeps.reading import from_file

        definition, sweep = from_file(file)
        return Targets([definition], options_of(sweep.run), dict(OPTIONS))

    def read_module(self, collected: CollectedFile) -> Targets | None:
        if not collected.content["sweep"]:
            return None
        from opbench.suites.sweeps.reading import from_module

        return Targets([from_module(collected)], suggested=dict(OPTIONS))

    def after_run(
        self, run: Finished, targets: Sequence[str], *, store: str | None, cont: bool
    ) -> Iterable[str]:
        """Statistics as CSV and the chart of each sweep among the results."""
        from opbench.suites.sweeps.command import files_after_run
        from opbench.suites.sweeps.hints import hints

        return [*hints(run.results), *map(str, files_after_run(run))]

    def commands(self) -> Iterable[Command]:
        from opbench.suites.sweeps.command import sweep

        yield Command("sweep", sweep, group="report")


SUITE = Sweeps()
