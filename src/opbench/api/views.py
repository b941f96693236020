"""What a notebook works with: a run as a page, a comparison, a history; each shows itself.

page = ob.page("last")            # a table in the notebook
page.frame()                      # the same as a DataFrame
page.charts()["ratios_time_…"]    # charts by name: they show and save themselves
page.save("report.html")

ob.compare("monday", "tuesday").chart()
ob.history("matmul").chart()
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.errors import plural, unknown
from opbench.store import Store, StoreError

if TYPE_CHECKING:
    import pandas

    from opbench.analyse.compare import Comparison
    from opbench.analyse.history import History
    from opbench.api.run import Run
    from opbench.plan.groups import Baseline
    from opbench.report.charts.chart import Charts
    from opbench.report.page.contents import Contents
    from opbench.store.records import StoredResult

Where = str | Path | None


@dataclass(frozen=True)
class Page:
    """A run with its comparisons and its history."""

    contents: Contents

    def frame(self) -> pandas.DataFrame:
        from opbench.api.frames import frame

        return frame(list(self.contents.results), [self.contents.run])

    def charts(self) -> Charts:
        """Every chart of the page, by name; shows them."""
        from opbench.report.charts.every import every

        return every(self.contents)

    def samples(self, case: str, metric: str = "time") -> Any:
        """The samples of one result as a chart; `case` is a part of its id."""
        from opbench.report.charts.samples import samples

        matches = [
            stored
            for stored in self.contents.results
            if case in stored.case.id and stored.result.metric == metric
        ]
        exact = [stored for stored in matches if stored.case.id == case]
        if len(exact or matches) != 1:
            count = plural(len(matches), "case")
            raise StoreError(f"'{case}' matches {count} with a {metric}; name exactly one")
        stored = (exact or matches)[0]
        drawing = samples(stored.result, stored.case.id)
        return drawing and drawing.chart()

    def save(self, path: str | Path) -> Path:
        """The self-contained HTML page."""
        from opbench.report.page.page import save

        save(self.contents, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        run = self.contents.run
        return f"Page({run.name or run.id}: {plural(len(self.contents.results), 'result')})"

    def _repr_html_(self) -> str:
        from opbench.report.notebook import contents_html

        return contents_html(self.contents)


@dataclass(frozen=True)
class Compared:
    """Sides against each other: two runs, or the values of an axis with its baseline."""

    comparisons: tuple[Comparison, ...]

    @property
    def comparison(self) -> Comparison:
        return self.comparisons[0]

    @property
    def rows(self) -> tuple[Any, ...]:
        return tuple(row for comparison in self.comparisons for row in comparison.rows)

    def frame(self) -> pandas.DataFrame:
        import pandas

        names = ("case_id", "metric", "unit", "value", "low", "high", "verdict", "reason")
        sides = [
            (comparison.base, comparison.new, row)
            for comparison in self.comparisons
            for row in comparison.rows
        ]
        return pandas.DataFrame(
            [
                {**{name: getattr(row, name) for name in names}, "base": base, "new": new}
                for base, new, row in sides
            ],
            columns=[*names, "base", "new"],
        ).rename(columns={"case_id": "case", "value": "ratio"})

    def chart(self, metric: str | None = None) -> Any:
        """Of the first comparison."""
        from opbench.report.charts.ratios import ratios

        drawing = ratios(self.comparison, metric)
        return drawing and drawing.chart()

    def __repr__(self) -> str:
        from opbench.report.comparison.tables import as_text

        return "\n".join(as_text(comparison).rstrip() for comparison in self.comparisons)

    def _repr_html_(self) -> str:
        from opbench.report.notebook import comparison_html

        return "".join(map(comparison_html, self.comparisons))


@dataclass(frozen=True)
class CaseHistory:
    """One case over all runs."""

    history: History

    def chart(self) -> Any:
        """Of the latest series that has two values or more."""
        from opbench.report.charts.history import history

        for series in self.history.series:
            if (drawing := history(series)) is not None:
                return drawing.chart()
        raise StoreError(f"{self.history.case_id} has one value: nothing to draw yet")

    def frame(self) -> pandas.DataFrame:
        import pandas

        from opbench.report.history_json import point_record

        names = ("run_id", "created", "commit", "environment", "outcome", "estimate", "low", "high")
        points = [point_record(row) for series in self.history.series for row in series.points]
        table = pandas.DataFrame(points, columns=names)
        table["created"] = pandas.to_datetime(table["created"], unit="s", utc=True)
        return table

    def __repr__(self) -> str:
        from opbench.report.history import as_text

        return as_text(self.history)

    def _repr_html_(self) -> str:
        from opbench.report.notebook import history_html

        return history_html(self.history)


def page(run: str = "last", *, against: str | None = None, store: Where = None) -> Page:
    """A run as `opbench report` shows it; `against` is what `opbench compare` takes."""
    from opbench.report.page.contents import gather

    with Store.open(store, create=False) as opened:
        return Page(gather(opened, run, against=against))


def compare(base: str, new: str, *, store: Where = None) -> Compared:
    """Two sides, named as for `opbench compare`."""
    from opbench.analyse.compare import compare as compared
    from opbench.analyse.sides import different, find_side, same_machine, side_names

    with Store.open(store, create=False) as opened:
        sides = [find_side(opened, text) for text in (base, new)]
    different(*sides)
    same_machine(*sides)
    return Compared((compared(sides[0].results, sides[1].results, names=side_names(*sides)),))


def compared_within(baseline: Baseline | None, results: list[StoredResult]) -> Compared:
    """What a run compares within itself."""
    from opbench.analyse.within import comparisons_within

    found = comparisons_within(baseline, results)
    if not found:
        raise StoreError("this run compares nothing; name what to compare it with, or a baseline")
    return Compared(tuple(found))


def compared_runs(base: str | list[StoredResult], new: Run, store: Where) -> Compared:
    """A run against another, or against a stored side."""
    from opbench.analyse.compare import compare as compared

    if isinstance(base, str):
        return compare(base, new.id, store=store or new.store or None)
    names = (base[0].run_id if base else "base", new.id)
    return Compared((compared(base, new.stored, names=names),))


def first_chart(
    baseline: Baseline | None, results: list[StoredResult], metric: str | None = None
) -> Any:
    """A metric over the sizes of a run, or where it has none, its factors or its comparison."""
    from opbench.analyse.within import comparisons_within
    from opbench.report.charts.ratios import ratios
    from opbench.report.charts.scaling import scaling

    measured = dict.fromkeys(each.result.metric for each in results)
    if metric is not None and metric not in measured:
        raise StoreError(unknown("metric", metric, measured))
    drawing = scaling(results, metric=metric)
    for comparison in comparisons_within(baseline, results) if drawing is None else ():
        drawing = drawing or ratios(comparison, metric)
    if drawing is None:
        raise StoreError("there is nothing to draw: no axis of sizes, and no baseline")
    return drawing.chart()


def history(case: str, metric: str = "time", *, store: Where = None) -> CaseHistory:
    """One case (an id, a hash, or a part of one) over all runs."""
    from opbench.analyse.history import history as over_time

    with Store.open(store, create=False) as opened:
        return CaseHistory(over_time(opened, opened.find_cases(case)[0].id, metric))
