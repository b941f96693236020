"""The suite `peaks`: what this machine can do at most, and the roofline under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite

if TYPE_CHECKING:
    from opbench.report.page.contents import Contents
    from opbench.report.page.table import Place
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

    def charts(self, contents: Contents) -> Mapping[str, Any]:
        roofline = contents.of_suites.get("peaks")
        if roofline is None:
            return {}
        from opbench.suites.peaks.roofline_chart import chart

        return {"roofline": chart(roofline.points, roofline.peaks)}

    def page_data(self, contents: Contents, places: Mapping[Place, int]) -> Mapping[str, Any]:
        roofline = contents.of_suites.get("peaks")
        if roofline is None:
            return {}
        from opbench.suites.peaks.roofline_page import data

        return {"roofline": data(roofline, places)}

    def page_scripts(self) -> Iterable[Path]:
        yield Path(__file__).with_name("roofline.js")

    def commands(self) -> Iterable[Command]:
        from opbench.suites.peaks.command import peaks
        from opbench.suites.peaks.roofline_command import roofline

        yield Command("peaks", peaks)
        yield Command("roofline", roofline, group="report")


SUITE = Peaks()
