"""The suite `peaks`: what this machine can do at most, and the roofline under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite

if TYPE_CHECKING:
    from opbench.report.charts.chart import Drawing
    from opbench.report.page.contents import Contents
    from opbench.store import Store
    from opbench.store.records import StoredResult


class Peaks(Suite):
    about = "what this machine can do at most: matrix products by dtype, and a copy (opbench peaks)"
    options: ClassVar = {"max_time_per_case": 3.0}

    def definitions(self) -> Iterable[Definition]:
        from opbench.suites.peaks.definitions import definitions

        return definitions()

    def gather(
        self,
        store: Store,
        results: Sequence[StoredResult],
        facts: Mapping[str, dict[str, Any]],
    ) -> Any:
        if not any(stored.case.work is not None for stored in results):
            return None
        from opbench.suites.peaks.roofline import of_run

        return of_run(store, results, facts)

    def drawings(self, contents: Contents) -> Iterable[Drawing]:
        roofline = contents.of_suites.get("peaks")
        if roofline is None:
            return
        from opbench.suites.peaks.roofline_chart import drawing

        drawn = drawing(roofline.points, roofline.peaks)
        if drawn is not None:
            yield drawn

    def commands(self) -> Iterable[Command]:
        from opbench.suites.peaks.command import peaks
        from opbench.suites.peaks.roofline_command import roofline

        yield Command("peaks", peaks)
        yield Command("roofline", roofline, group="report")


SUITE = Peaks()
