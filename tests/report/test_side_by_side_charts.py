"""Charts put side by side each show their own data."""

from __future__ import annotations

from opbench.report.charts.chart import side_by_side
from opbench.report.charts.samples import samples
from opbench.result import Result, Sample


def test_two_views_of_one_name_do_not_share_their_data():
    """Vega-Lite takes views of one name for one: both panels would show the data of the last."""
    charts = []
    for value in (1e-5, 5e-5):
        taken = tuple(Sample(value, start=start) for start in range(3))
        drawing = samples(Result("h", "time", "s", estimate=value, samples=taken))
        assert drawing is not None
        charts.append(drawing.chart())
    joined = side_by_side(charts, "both")
    views = [view for panel in joined.spec["concat"] for view in panel["layer"]]
    names = [view["name"] for view in views if "name" in view]
    assert len(names) == len(set(names))
    assert [round(point["value"]) for point in joined.points] == [10] * 3 + [50] * 3
    # The charts themselves are as before: the page looks for the view of the samples.
    assert charts[0].spec["layer"][1]["name"] == "sample"
