"""A chart: a Vega-Lite specification and what fills it.

Each kind of chart is one specification, a plain dictionary with places for texts (`"{title}"`) and
named datasets. The page carries each specification once and fills it in the browser; files and
notebooks are rendered from the same one by vl-convert, without a browser.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from opbench.files import component, make_folder, writing
from opbench.result import Result

Spec = dict[str, Any]
#: A dataset by columns, all of one length.
Columns = Mapping[str, Sequence[Any]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
#: Of charts in files; the page uses the room it has.
WIDTH = 640
#: Charts that a notebook shows at once; the others are named.
SHOWN = 12
FORMATS = (".png", ".svg", ".pdf", ".html", ".json")

#: Okabe and Ito's palette, from the page's style sheet, which has it for both themes: readable with
#: any kind of colour vision.
PALETTE = [f"var(--c{index})" for index in range(8)]
#: Of the verdicts, in the order they are reported in. A shape as well as a colour: not everybody
#: sees the colour.
SHAPES = ["triangle-up", "triangle-down", "circle", "diamond"]

LOG = {"type": "log"}
NEAR = {"zero": False}
#: A line that stands for "no difference".
EQUAL = {"type": "rule", "strokeDash": [4, 3], "color": "var(--soft)"}
DOT = {"type": "point", "filled": True, "opacity": 1}

CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif",
    "view": {"stroke": "transparent"},
    "range": {"category": PALETTE},
    "title": {"color": "var(--ink)", "anchor": "start", "subtitleColor": "var(--soft)"},
    "axis": {
        "labelColor": "var(--soft)", "titleColor": "var(--soft)", "gridColor": "var(--line)",
        "gridOpacity": 0.7, "domainColor": "var(--line)", "tickColor": "var(--line)",
        "labelFontSize": 11.5, "titleFontSize": 12,
    },
    "legend": {
        "orient": "bottom", "columns": 3, "labelLimit": 360, "labelColor": "var(--soft)",
        "titleColor": "var(--soft)", "labelFontSize": 11.5, "titleFontSize": 12,
    },
    "header": {"labelColor": "var(--soft)", "titleColor": "var(--soft)"},
    "text": {"color": "var(--soft)"},
}  # fmt: skip


def quantity(name: str, title: str | None, **more: Any) -> Spec:
    return {"field": name, "type": "quantitative", "title": title, **more}


def category(name: str, title: str | None = None, **more: Any) -> Spec:
    """In the order of the data, unless `sort` says otherwise."""
    return {"field": name, "type": "nominal", "title": title, "sort": None, **more}


def named(name: str, domain: str, title: str | None = None) -> dict[str, Spec]:
    """Colour and shape of a category, with one legend for both."""
    channel = category(name, title, scale={"domain": domain})
    return {"color": channel, "shape": channel}


def layer(mark: Spec, data: str = "points", /, **encoding: Any) -> Spec:
    return {"data": {"name": data}, "mark": mark, "encoding": encoding}


def tips(*names: str) -> list[Spec]:
    """What is shown of a point that is pointed at."""
    return [{"field": name, "type": "nominal"} for name in names]


def filled(spec: Any, words: Mapping[str, Any]) -> Any:
    """The specification with every text that is a key of `words` replaced."""
    if isinstance(spec, str):
        return words.get(spec, spec)
    if isinstance(spec, dict):
        return {key: filled(value, words) for key, value in spec.items()}
    return [filled(value, words) for value in spec] if isinstance(spec, list) else spec


@dataclass(frozen=True)
class Chart:
    """Shows itself in a notebook; `save` writes it by the name of the file."""

    spec: Spec

    @property
    def points(self) -> list[dict[str, Any]]:
        """What is drawn, one dictionary per point; of several panels, all of theirs."""
        if "concat" in self.spec:
            return [
                p for panel in self.spec["concat"] for p in panel["layer"][-1]["data"]["values"]
            ]
        points: list[dict[str, Any]] = self.spec["datasets"]["points"]
        return points

    def to_dict(self) -> Spec:
        """Complete Vega-Lite, as any of its tools reads it."""
        light = _light_theme()
        config = {**CONFIG, "background": "white"}
        text = json.dumps({"$schema": SCHEMA, "config": config, **self.spec})
        spec: Spec = json.loads(re.sub(r"var\(--(\w+)\)", lambda m: light[m[1]], text))
        return spec

    def save(self, path: str | Path, width_mm: float | None = None) -> None:
        """`width_mm` is the width of the whole picture, in SVG and PDF."""
        path = Path(path)
        if path.suffix not in FORMATS:
            raise ValueError(f"{path}: a chart is written as {', '.join(FORMATS)}")
        with writing(path) as partial:
            partial.write_bytes(self._bytes(path.suffix, width_mm))

    def _bytes(self, suffix: str, width_mm: float | None = None) -> bytes:
        if suffix == ".json":
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1).encode("utf-8")
        if suffix == ".png":
            return self.png()
        import vl_convert

        if suffix == ".svg":
            return self.svg(width_mm).encode("utf-8")
        if suffix == ".pdf":
            # The converter makes a point of each of the 96 pixels of an inch; it has 72 points.
            drawn = self.svg() if width_mm is None else self.svg(width_mm * 72 / 96)
            return bytes(vl_convert.svg_to_pdf(drawn))
        return str(vl_convert.vegalite_to_html(self.to_dict(), bundle=True)).encode("utf-8")

    def svg(self, width_mm: float | None = None) -> str:
        import vl_convert

        text = str(vl_convert.vegalite_to_svg(self.to_dict()))
        found = re.search(r'width="([\d.]+)" height="([\d.]+)"', text)
        if width_mm is None or found is None:
            return text
        height = width_mm * float(found[2]) / float(found[1])
        return text.replace(found[0], f'width="{width_mm:g}mm" height="{height:.4g}mm"', 1)

    def __repr__(self) -> str:
        return f"Chart({self.spec.get('title', '')!r})"

    def _repr_png_(self) -> bytes:
        """In a notebook: a picture that every viewer of the file shows."""
        return self.png()

    def png(self) -> bytes:
        import vl_convert

        # Twice the pixels: charts are shown on dense screens and in print.
        return bytes(vl_convert.vegalite_to_png(self.to_dict(), scale=2.0))


class Charts(dict[str, Chart]):
    """Charts by name; shows them in a notebook, the first `SHOWN`."""

    def _repr_html_(self) -> str:
        shown = list(self.items())[:SHOWN]
        parts = [_figure(name, chart) for name, chart in shown]
        if rest := list(self)[SHOWN:]:
            parts.append(f"<p>{len(rest)} more: {escape(', '.join(rest))}</p>")
        return "".join(parts) or "<p>Nothing to draw.</p>"


def _figure(name: str, chart: Chart) -> str:
    """A PNG, as of a single chart: a picture that every viewer of the file shows."""
    data = base64.b64encode(chart.png()).decode("ascii")
    return (
        f"<figure><figcaption><code>{escape(name)}</code></figcaption>"
        f'<img alt="{escape(name)}" style="max-width: 100%" src="data:image/png;base64,{data}">'
        "</figure>"
    )


@cache
def _light_theme() -> dict[str, str]:
    """Colours by name, as the page's style sheet gives them first."""
    style = resources.files("opbench.report.page").joinpath("style.css").read_text("utf-8")
    return dict(re.findall(r"--(\w+): (#\w+)", style[: style.index("}")]))


@dataclass(frozen=True)
class Drawing:
    """One chart of one kind: the choices that lead to it on the page, and what fills it."""

    kind: str
    spec: Spec
    words: Mapping[str, Any]
    data: Mapping[str, Columns]
    #: Title and value of each choice, in the order the page offers them.
    choice: Mapping[str, str] = field(default_factory=dict)
    #: The result behind each point: what the page opens when the point is clicked.
    results: Sequence[Result] = ()
    #: Columns of the points that the page has in its table and looks up there by row.
    looked_up: Sequence[str] = ("case",)
    #: What values are divided by, for an axis in µs.
    factor: float = 1.0
    note: str = ""
    #: Whether the page also shows it with each of its cases, that case marked.
    of_case: bool = False

    def chart(self, **more: Any) -> Chart:
        datasets = {name: rows_of(columns) for name, columns in self.data.items()}
        return Chart(
            {"width": WIDTH, **filled(self.spec, self.words), "datasets": datasets, **more}
        )


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Columns:
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def scaled(unit: str, typical: float) -> tuple[float, str]:
    """What to divide by, and the unit to write on the axis: (1e-6, "µs")."""
    from opbench.report.units import SCALES

    fitting = [each for each in SCALES.get(unit, ()) if abs(typical) >= each[0]]
    return fitting[-1] if fitting else (SCALES[unit][0] if unit in SCALES else (1.0, unit))


def side_by_side(charts: Sequence[Chart], title: str, columns: int = 2) -> Chart:
    """Several charts as one picture."""
    specs = [{key: part for key, part in c.spec.items() if key != "datasets"} for c in charts]
    panels = deepcopy(specs)
    for panel, chart in zip(panels, charts):
        inline(panel, chart.spec["datasets"])
        for view in panel.get("layer", []):
            view.pop("name", None)  # the page's, and two views of one name would share their data
    return Chart({"title": title, "concat": panels, "columns": columns})


def inline(spec: Any, datasets: Mapping[str, Any]) -> None:
    """Put the datasets where the specification names them: panels have data of their own."""
    if isinstance(spec, dict):
        if (name := spec.get("data", {}).get("name")) in datasets:
            spec["data"] = {"values": datasets[name]}
        for part in spec.values():
            inline(part, datasets)
    elif isinstance(spec, list):
        for part in spec:
            inline(part, datasets)


def save_all(charts: Mapping[str, Chart], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write every chart in every format, by its name; the folder is made when it is missing."""
    make_folder(folder)
    written = [folder / f"{component(name)}.{kind}" for name in charts for kind in formats]
    for path, chart in zip(written, (chart for chart in charts.values() for _ in formats)):
        chart.save(path)
    return written
